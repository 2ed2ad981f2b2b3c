/** `sealgate doctor` at the bedside of real servers. */
import { execFileSync } from "node:child_process"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { doctorCommand } from "../../src/cli/doctorCommand.ts"
import { hasOpenssl, makeCertificate } from "../support/certificates.ts"
import { run, sealgate } from "../support/cli.ts"
import { startProxy, temporaryFolder } from "../support/proxy.ts"
import { fault } from "../support/FakeUpstream.ts"
import { sealedSetup } from "../support/sealedSetup.ts"
import { failureOf } from "../support/tamper.ts"

interface Told {
  readonly ok: boolean
  readonly findings: ReadonlyArray<{
    readonly check: string
    readonly level: string
    readonly says: string
    readonly fix?: string
  }>
}

const examine = Effect.fnUntraced(function* (url: string, ...args: ReadonlyArray<string>) {
  const { code, stdout } = yield* run(doctorCommand, ["--proxy", url, "--json", ...args])
  // The command prints exactly this shape.
  const told = JSON.parse(stdout) as Told
  const of = (level: string) => told.findings.filter((finding) => finding.level === level).map(({ check }) => check)
  const says = (check: string) => told.findings.find((finding) => finding.check === check)?.says ?? ""
  return { code, told, errors: of("error"), warnings: of("warning"), says }
})

describe("sealgate doctor", () => {
  it.live("finds nothing to mend at a proxy that is well", () =>
    Effect.gen(function* () {
      const { proxy } = yield* sealedSetup()
      const anybody = yield* examine(proxy.url, "--pin", proxy.kid)
      assert.deepStrictEqual([anybody.code, anybody.errors, anybody.warnings], [0, [], []])
      const operator = ["--operator", proxy.operatorUrl]
      const { code, errors, says, told, warnings } = yield* examine(proxy.url, "--pin", proxy.kid, ...operator)
      assert.deepStrictEqual([code, told.ok, errors], [0, true, []])
      // Whether there is guarded memory depends on the machine.
      assert.deepStrictEqual(
        warnings.filter((check) => check !== "keys"),
        [],
      )
      assert.include(says("providers"), "provider1 (model-1)")
      assert.include(says("limits"), "256 requests")
    }).pipe(Effect.scoped),
  )

  it.live("says in words what it found, in a process of its own", () =>
    Effect.gen(function* () {
      const { kid, url } = yield* startProxy()
      const { code, stdout } = yield* sealgate(["doctor", "--proxy", url])
      assert.strictEqual(code, 0)
      assert.include(stdout, kid)
      assert.include(stdout, "built-in echo")
      assert.include(stdout, "It works;")
      assert.notInclude(stdout, "\u001b[")
    }).pipe(Effect.scoped),
  )

  it.live("finds a wrong pin, and goes on looking", () =>
    Effect.gen(function* () {
      const { kid, url } = yield* startProxy()
      const { code, errors, says } = yield* examine(url, "--pin", "A".repeat(43))
      assert.deepStrictEqual([code, errors], [1, ["pin"]])
      assert.include(says("pin"), kid)
      assert.include(says("clock"), "agree")
    }).pipe(Effect.scoped),
  )

  it.live("finds clocks that are two minutes apart, and notices half a minute", () =>
    Effect.gen(function* () {
      const { kid, url } = yield* startProxy()
      const clock = yield* Clock.Clock
      const shifted = (by: number) => ({
        ...clock,
        currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + by,
        currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => now + by),
        sleep: clock.sleep.bind(clock),
      })
      const examineAt = (by: number) => Effect.provideService(examine(url, "--pin", kid), Clock.Clock, shifted(by))
      const late = yield* examineAt(-120_000)
      assert.deepStrictEqual([late.code, late.errors], [1, ["clock"]])
      assert.match(late.says("clock"), /(119|120|121) s behind/)
      const early = yield* examineAt(120_000)
      assert.deepStrictEqual([early.code, early.errors], [1, ["clock"]])
      assert.include(early.says("clock"), "ahead")
      const slightly = yield* examineAt(30_000)
      assert.deepStrictEqual([slightly.code, slightly.errors], [0, []])
      assert.include(slightly.warnings, "clock")
    }).pipe(Effect.scoped),
  )

  it.live("finds a provider that fails", () =>
    Effect.gen(function* () {
      const { fake, proxy } = yield* sealedSetup({ circuitFailures: 1 })
      fake.always(fault.serverError())
      yield* Effect.promise(() => failureOf(proxy.client().complete({ prompt: "Hi" })))
      const anybody = yield* examine(proxy.url, "--pin", proxy.kid)
      assert.deepStrictEqual([anybody.code, anybody.warnings], [0, ["providers"]])
      const { code, errors, says } = yield* examine(proxy.url, "--operator", proxy.operatorUrl)
      assert.strictEqual(code, 1)
      assert.deepStrictEqual([...errors], ["providers"])
      assert.include(says("ready"), "degraded")
      assert.include(says("providers"), "provider1 (model-1)")
    }).pipe(Effect.scoped),
  )

  it.live("warns of plaintext beyond this machine", () =>
    Effect.gen(function* () {
      const { kid, port } = yield* startProxy({ settings: { host: "0.0.0.0" } })
      const local = yield* examine(`http://127.0.0.1:${port}`, "--pin", kid)
      assert.notInclude(local.warnings, "address")
      // An address of this machine that is not a loopback one by its spelling.
      const remote = yield* examine(`http://0.0.0.0:${port}`, "--pin", kid)
      assert.strictEqual(remote.code, 0)
      assert.include(remote.warnings, "address")
    }).pipe(Effect.scoped),
  )

  it.live("warns when the rate limit is spent", () =>
    Effect.gen(function* () {
      const { kid, url } = yield* startProxy({ settings: { rateLimitInit: 1 } })
      yield* examine(url, "--pin", kid)
      const { code, says, warnings } = yield* examine(url, "--pin", kid)
      assert.strictEqual(code, 0)
      assert.include(warnings, "limits")
      assert.match(says("limits"), /in \d+ s/)
    }).pipe(Effect.scoped),
  )

  it.live("finds nobody, and somebody else", () =>
    Effect.gen(function* () {
      const nobody = yield* examine("http://127.0.0.1:9")
      assert.deepStrictEqual([nobody.code, nobody.errors], [1, ["reachable"]])
      const server = createServer((_, response) => response.end("Hello"))
      yield* Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)))
      yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
      // `address()` is a string only for pipes.
      const { port } = server.address() as AddressInfo
      const other = yield* examine(`http://127.0.0.1:${port}`)
      assert.deepStrictEqual([other.code, other.errors], [1, ["reachable"]])
      assert.include(other.says("reachable"), "no sealgate")
      const plain = yield* examine(`https://127.0.0.1:${port}`)
      assert.deepStrictEqual([plain.code, plain.errors], [1, ["reachable"]])
      assert.include(plain.says("reachable"), "does not speak TLS")
    }).pipe(Effect.scoped),
  )

  it.live("finds that nobody answers the operator", () =>
    Effect.gen(function* () {
      const { kid, url } = yield* startProxy()
      const { code, errors, says } = yield* examine(url, "--pin", kid, "--operator", url)
      assert.deepStrictEqual([code, errors], [1, ["ready"]])
      assert.include(says("ready"), url)
    }).pipe(Effect.scoped),
  )

  it.live("finds a proxy that does not know its own name", () =>
    Effect.gen(function* () {
      const { kid, port } = yield* startProxy()
      // Reaches this machine, but is no name of it.
      const { code, errors, says, told } = yield* examine(`http://0.0.0.0:${port}`, "--pin", kid)
      assert.deepStrictEqual([code, errors], [1, ["reachable"]])
      assert.include(says("reachable"), "does not answer under that name")
      assert.include(JSON.stringify(told.findings), "adds it to ALLOWED_HOSTS")
    }).pipe(Effect.scoped),
  )

  it.live("exits 2 when it is called wrongly", () =>
    Effect.gen(function* () {
      for (const args of [
        ["--proxy", "nonsense"],
        ["--proxy", "http://127.0.0.1:9", "--ca", "/no/such/file"],
      ]) {
        assert.strictEqual((yield* run(doctorCommand, args)).code, 2)
      }
    }),
  )
})

describe.skipIf(!hasOpenssl)("sealgate doctor, over TLS", () => {
  const served = Effect.fnUntraced(function* (expired: boolean) {
    const folder = yield* temporaryFolder
    const { cert: valid, key } = makeCertificate(folder, "server")
    const cert = expired ? join(folder, "expired.crt") : valid
    if (expired) {
      // The same certificate, but until yesterday.
      execFileSync("openssl", `x509 -in ${valid} -signkey ${key} -days -1 -out ${cert}`.split(" "), { stdio: "pipe" })
    }
    const proxy = yield* startProxy({ settings: { tlsCertFile: cert, tlsKeyFile: key } })
    return { ...proxy, ca: cert }
  })

  it.live("finds an expired certificate, and goes on looking", () =>
    Effect.gen(function* () {
      const { ca, kid, url } = yield* served(true)
      for (const args of [[], ["--ca", ca]]) {
        const { code, errors, says } = yield* examine(url, "--pin", kid, ...args)
        assert.deepStrictEqual([code, errors], [1, ["certificate"]])
        assert.include(says("certificate"), "has expired")
        assert.include(says("pin"), "as pinned")
      }
    }).pipe(Effect.scoped),
  )

  it.live("finds one that nobody believes, and one that ends soon", () =>
    Effect.gen(function* () {
      const { ca, kid, url } = yield* served(false)
      const unknown = yield* examine(url, "--pin", kid)
      assert.deepStrictEqual([unknown.code, unknown.errors], [1, ["certificate"]])
      assert.include(unknown.says("certificate"), "no authority that this machine trusts")
      const known = yield* examine(url, "--pin", kid, "--ca", ca)
      assert.deepStrictEqual([known.code, known.errors], [0, []])
      assert.include(known.says("certificate"), "ends soon")
      assert.include(known.says("address"), "HTTPS")
      const named = yield* examine(url.replace("127.0.0.1", "localhost"), "--pin", kid, "--ca", ca)
      assert.include(named.says("certificate"), "for another host")
      const plain = yield* examine(url.replace("https:", "http:"), "--pin", kid)
      assert.deepStrictEqual(plain.errors, ["reachable"])
    }).pipe(Effect.scoped),
  )
})
