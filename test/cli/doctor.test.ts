/** `sealgate doctor` against real servers. */
import { execFileSync } from "node:child_process"
import { createServer } from "node:http"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { doctorCommand } from "../../src/cli/doctorCommand.ts"
import { hasOpenssl, makeCertificate } from "../support/certificates.ts"
import { run, sealgate } from "../support/cli.ts"
import { answering } from "../support/answering.ts"
import { listening } from "../support/listening.ts"
import { makeMiddleman } from "../support/middleman.ts"
import { startConnector } from "../support/connector.ts"
import { databaseUrl, startGateway } from "../support/gateway.ts"
import { startProxy, temporaryFolder } from "../support/proxy.ts"
import { fault } from "../support/FakeUpstream.ts"
import { failing } from "../support/promises.ts"
import { sealedSetup } from "../support/sealedSetup.ts"

interface Report {
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
  const report = JSON.parse(stdout) as Report
  const of = (level: string) => report.findings.filter((finding) => finding.level === level).map(({ check }) => check)
  const says = (check: string) => report.findings.find((finding) => finding.check === check)?.says ?? ""
  return { code, report, errors: of("error"), warnings: of("warning"), says }
})

describe("sealgate doctor", () => {
  it.live("finds no problem at a healthy proxy", () =>
    Effect.gen(function* () {
      const { proxy } = yield* sealedSetup()
      const anybody = yield* examine(proxy.url, "--pin", proxy.kid)
      assert.deepStrictEqual([anybody.code, anybody.errors, anybody.warnings], [0, [], []])
      const operator = ["--operator", proxy.operatorUrl]
      const { code, errors, says, report, warnings } = yield* examine(proxy.url, "--pin", proxy.kid, ...operator)
      assert.deepStrictEqual([code, report.ok, errors], [0, true, []])
      // Whether there is guarded memory depends on the machine.
      assert.deepStrictEqual(
        warnings.filter((check) => check !== "keys"),
        [],
      )
      assert.include(says("providers"), "provider1 (model-1)")
      assert.include(says("limits"), "256 requests")
    }),
  )

  it.live("prints its findings as text", () =>
    Effect.gen(function* () {
      const { kid, url } = yield* startProxy()
      const { code, stdout } = yield* sealgate(["doctor", "--proxy", url])
      assert.strictEqual(code, 0)
      assert.include(stdout, kid)
      assert.include(stdout, "built-in echo")
      assert.include(stdout, "It works; warnings: ")
      assert.notInclude(stdout, "\u001b[")
    }),
  )

  it.live("reports a wrong pin and continues", () =>
    Effect.gen(function* () {
      const { kid, url } = yield* startProxy()
      const { code, errors, says } = yield* examine(url, "--pin", "A".repeat(43))
      assert.deepStrictEqual([code, errors], [1, ["pin"]])
      assert.include(says("pin"), kid)
      assert.include(says("clock"), "agree")
    }),
  )

  it.live("reports clocks two minutes apart as an error and half a minute as a warning", () =>
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
    }),
  )

  it.live("reports a failing provider", () =>
    Effect.gen(function* () {
      const { fake, proxy } = yield* sealedSetup({ circuitFailures: 1 })
      fake.always(fault.serverError())
      yield* failing(proxy.client().complete({ prompt: "Hi" }))
      const anybody = yield* examine(proxy.url, "--pin", proxy.kid)
      assert.deepStrictEqual([anybody.code, anybody.warnings], [0, ["providers"]])
      const { code, errors, says } = yield* examine(proxy.url, "--operator", proxy.operatorUrl)
      assert.strictEqual(code, 1)
      assert.deepStrictEqual([...errors], ["providers"])
      assert.include(says("ready"), "degraded")
      assert.include(says("providers"), "provider1 (model-1)")
    }),
  )

  it.live("warns about plain HTTP beyond this machine", () =>
    Effect.gen(function* () {
      const { kid, port } = yield* startProxy({ settings: { host: "0.0.0.0" } })
      const local = yield* examine(`http://127.0.0.1:${port}`, "--pin", kid)
      assert.notInclude(local.warnings, "address")
      // An address of this machine that is not a loopback one by its spelling.
      const remote = yield* examine(`http://0.0.0.0:${port}`, "--pin", kid)
      assert.strictEqual(remote.code, 0)
      assert.include(remote.warnings, "address")
    }),
  )

  it.live("warns when the rate limit is used up", () =>
    Effect.gen(function* () {
      const { kid, url } = yield* startProxy({ settings: { rateLimitInit: 1 } })
      yield* examine(url, "--pin", kid)
      const { code, says, warnings } = yield* examine(url, "--pin", kid)
      assert.strictEqual(code, 0)
      assert.include(warnings, "limits")
      assert.match(says("limits"), /in \d+ s/)
    }),
  )

  it.live("warns when requests of coding agents would be too large", () =>
    Effect.gen(function* () {
      const { proxy } = yield* sealedSetup({ maxRequestBytes: 1024 * 1024 })
      const { code, report, warnings } = yield* examine(proxy.url, "--pin", proxy.kid)
      assert.deepStrictEqual([code, warnings], [0, ["limits"]])
      assert.include(report.findings.find(({ check }) => check === "limits")?.fix, "MAX_REQUEST_BYTES")
    }),
  )

  it.live("finds no problem at another implementation, which has only the protocol's paths", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const none = async () => new Response("", { status: 404 })
      const { url } = yield* makeMiddleman(proxy.url, (asked, onward) =>
        asked.path.startsWith("/v1/") && asked.path !== "/v1/models" ? onward(asked) : none(),
      )
      const { code, errors, says, report } = yield* examine(url, "--pin", proxy.kid)
      assert.deepStrictEqual([code, errors, report.ok], [0, [], true])
      assert.include(says("reachable"), "another implementation")
      const pinned = yield* examine(url, "--pin", "A".repeat(43))
      assert.deepStrictEqual([pinned.code, pinned.errors], [1, ["pin"]])
    }),
  )

  it.live("describes a server that answers in place of the proxy", () =>
    Effect.gen(function* () {
      const found: Array<readonly [says: string, fix: string | undefined]> = []
      for (const [status, headers, body] of [
        [401, { "content-type": "text/html; charset=x", server: "nginx/1.29" }, "<html><title>401 Login</title>"],
        [502, { "content-type": "text/plain" }, "no upstream\u001b[2J"],
        [308, { location: "https://elsewhere.example/sub/health?from=here" }, ""],
        [302, { location: "/login" }, ""],
        [200, { "content-type": "text/plain" }, '{"software":{"toString":1},"type":{"toString":1}}'],
      ] as const) {
        const url = yield* answering((response) => response.writeHead(status, headers).end(body))
        const { code, stdout } = yield* run(doctorCommand, ["--proxy", url])
        assert.strictEqual(code, 1)
        assert.notInclude(stdout, "\u001b[2J")
        const { errors, says, report } = yield* examine(url)
        assert.deepStrictEqual(errors, ["reachable"])
        found.push([says("reachable"), report.findings.find(({ check }) => check === "reachable")?.fix])
      }
      assert.deepStrictEqual(found, [
        [
          "A server answers, but it is not sealgate: status 401, text/html from nginx/1.29: 401 Login",
          "A server in front of the proxy requires a login. Let requests pass: callers authenticate under the seal.",
        ],
        [
          "A server answers, but it is not sealgate: status 502, text/plain: no upstream\u001b[2J",
          "A server in front of the proxy answered: check that the proxy runs, and where that server expects it.",
        ],
        [
          "A server answers, but it is not sealgate: status 308, no content type.",
          "Use the address of the redirect: https://elsewhere.example/sub/",
        ],
        [
          "A server answers, but it is not sealgate: status 302, no content type.",
          "It redirects to /login; use the proxy's own address.",
        ],
        [
          'A server answers, but it is not sealgate: status 200, text/plain: {"software":{"toString":1},"type":{"toString":1}}',
          "Check the address, path included.",
        ],
      ])
    }),
  )

  it.live("advises https after a closed connection only if it was plain HTTP", () =>
    Effect.gen(function* () {
      const server = createServer().on("connection", (socket) => socket.resetAndDestroy())
      const port = yield* listening(server)
      for (const [scheme, advises] of [
        ["http", true],
        ["https", false],
      ] as const) {
        const { says, report } = yield* examine(`${scheme}://127.0.0.1:${port}`)
        assert.strictEqual(says("reachable"), "The proxy cannot be reached: it closed the connection.")
        const fix = report.findings.find(({ check }) => check === "reachable")?.fix
        assert.strictEqual(fix?.includes("https://"), advises)
      }
    }),
  )

  it.live("asks through the network's proxy if clients do", () =>
    Effect.gen(function* () {
      const asked: Array<string | undefined> = []
      const network = yield* answering((response, { url }) => {
        asked.push(url)
        response.end('{"software":"sealgate/0"}')
      })
      const env = { NODE_USE_ENV_PROXY: "1", HTTP_PROXY: network, http_proxy: network, NO_PROXY: "", no_proxy: "" }
      const { stdout } = yield* sealgate(["doctor", "--proxy", "http://proxy.invalid"], "", env)
      assert.include(stdout, "The proxy answers; it is sealgate/0.")
      assert.strictEqual(asked[0], "http://proxy.invalid/health")
    }),
  )

  it.live("describes a wrong answer in place of a session offer or the readiness", () =>
    Effect.gen(function* () {
      const url = yield* answering((response, { url = "" }) => {
        if (url === "/health") return response.end('{"software":"sealgate/0"}')
        return response.writeHead(503, { "content-type": "text/html", server: "edge" }).end("<title>Busy</title>")
      })
      const { code, errors, says } = yield* examine(url)
      assert.deepStrictEqual([code, errors], [1, ["session", "ready"]])
      assert.include(says("session"), "instead of the proxy: status 503, text/html from edge: Busy")
      assert.include(says("ready"), "status 503, text/html from edge: Busy")
    }),
  )

  it.live("distinguishes a gateway, a connector and an operator's listener from a proxy", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl({ kind: "sqlite" }))
      const { kid, operatorUrl, url } = yield* startProxy()
      const connector = yield* startConnector({ sealed: { baseUrl: url, pins: [kid] } })
      assert.include((yield* examine(gateway.url)).says("session"), "an agent gateway, not a sealed proxy")
      assert.include((yield* examine(operatorUrl)).says("session"), "an operator's listener, not a sealed proxy")
      assert.include((yield* examine(connector.url)).says("session"), "a connector, not a sealed proxy")
    }),
  )

  it.live("reports an operator's listener that does not answer", () =>
    Effect.gen(function* () {
      const { kid, url } = yield* startProxy()
      const { code, errors, says } = yield* examine(url, "--pin", kid, "--operator", url)
      assert.deepStrictEqual([code, errors], [1, ["ready"]])
      assert.include(says("ready"), url)
    }),
  )

  it.live("reports a proxy that refuses the host name used", () =>
    Effect.gen(function* () {
      const { kid, port } = yield* startProxy()
      // An address that reaches this machine but is not one of its names.
      const { code, errors, says, report } = yield* examine(`http://0.0.0.0:${port}`, "--pin", kid)
      assert.deepStrictEqual([code, errors], [1, ["reachable"]])
      assert.include(says("reachable"), "does not answer under that name")
      assert.include(
        JSON.stringify(report.findings),
        "This server does not accept that name; the operator can add it to ALLOWED_HOSTS",
      )
    }),
  )
})

describe("sealgate doctor --call", () => {
  it.live("calls each provider, and sends nothing to a proxy that is not pinned", () =>
    Effect.gen(function* () {
      const { fake, proxy } = yield* sealedSetup()
      const stranger = yield* examine(proxy.url, "--pin", "A".repeat(43), "--call")
      assert.deepStrictEqual([stranger.code, stranger.errors], [1, ["pin"]])
      assert.include(stranger.says("calls"), "No provider was called")
      assert.strictEqual(fake.requests.length, 0)
      const { code, errors, says } = yield* examine(proxy.url, "--pin", proxy.kid, "--call")
      assert.deepStrictEqual([code, errors], [0, []])
      assert.match(says("calls"), /^provider1 \(model-1\) answered a sealed request in \d+\.\d s\.$/)
      assert.strictEqual(fake.requests.length, 1)
    }),
  )

  it.live("asks for no credential if the refusal came without a seal", () =>
    Effect.gen(function* () {
      const { proxy } = yield* sealedSetup()
      const headers = { "content-type": "application/problem+json" }
      const problem = JSON.stringify({ code: "unauthorized", title: "Log in." })
      const { url } = yield* makeMiddleman(proxy.url, (asked, onward) =>
        asked.path === "/v1/completions"
          ? Promise.resolve(new Response(problem, { status: 401, headers }))
          : onward(asked),
      )
      const { errors, report } = yield* examine(url, "--pin", proxy.kid, "--call")
      assert.deepStrictEqual(errors, ["calls"])
      assert.strictEqual(
        report.findings.at(-1)?.fix,
        "A server in front of the proxy may have refused: look at the proxy's log.",
      )
    }),
  )

  it.live("calls each provider once, but none if the list has more than a proxy can have", () =>
    Effect.gen(function* () {
      const { fake, proxy } = yield* sealedSetup()
      const listing = (ownerOf: (i: number) => string) =>
        makeMiddleman(proxy.url, async (asked, onward) => {
          if (asked.path !== "/v1/models") return onward(asked)
          return Response.json({
            data: Array.from({ length: 200 }, (_, i) => ({ id: `m-${i}`, owned_by: ownerOf(i) })),
          })
        })
      const repeated = yield* listing(() => "provider1")
      const once = yield* examine(repeated.url, "--pin", proxy.kid, "--call")
      assert.deepStrictEqual([once.code, once.errors], [0, []])
      assert.match(once.says("calls"), /^provider1 \(m-0\) answered/)
      assert.strictEqual(fake.requests.length, 1)
      const many = yield* listing((i) => `p-${i}`)
      const none = yield* examine(many.url, "--pin", proxy.kid, "--call")
      assert.deepStrictEqual([none.code, none.errors], [1, ["calls"]])
      assert.include(none.says("calls"), "names 200 providers")
      assert.isEmpty(many.asked.filter(({ path }) => path === "/v1/completions"))
    }),
  )

  it.live.each([
    [
      503,
      "The provider could not be reached or failed",
      "Check at the proxy: the provider's address, HTTPS_PROXY if its network has one",
    ],
    [401, "The provider refused the operator's key", "Check the provider's key and account at the proxy."],
  ] as const)("reports why a provider fails with %d, with the trace for the operator", ([status, says, fix]) =>
    Effect.gen(function* () {
      const { fake, proxy } = yield* sealedSetup()
      fake.always(fault.status(status, { body: { error: "no" } }))
      const found = yield* examine(proxy.url, "--pin", proxy.kid, "--call")
      assert.deepStrictEqual([found.code, found.errors], [1, ["calls"]])
      assert.include(found.says("calls"), `provider1 (model-1) did not answer: ${says}`)
      const said = found.report.findings.at(-1)?.fix ?? ""
      assert.include(said, fix)
      assert.match(said, / The proxy's log says why, for this trace or an earlier one: [0-9a-f]{32}$/)
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

  it.live("reports an expired certificate and continues", () =>
    Effect.gen(function* () {
      const { ca, kid, url } = yield* served(true)
      for (const args of [[], ["--ca", ca]]) {
        const { code, errors, says } = yield* examine(url, "--pin", kid, ...args)
        assert.deepStrictEqual([code, errors], [1, ["certificate"]])
        assert.include(says("certificate"), "has expired")
        assert.include(says("pin"), "as pinned")
      }
    }),
  )

  it.live("reports a certificate that is not trusted, and one that expires soon", () =>
    Effect.gen(function* () {
      const { ca, kid, url } = yield* served(false)
      const unknown = yield* examine(url, "--pin", kid)
      assert.deepStrictEqual([unknown.code, unknown.errors], [1, ["certificate"]])
      assert.include(unknown.says("certificate"), "no authority that this machine trusts")
      const known = yield* examine(url, "--pin", kid, "--ca", ca)
      assert.deepStrictEqual([known.code, known.errors], [0, []])
      assert.include(known.says("certificate"), "expires soon")
      assert.include(known.says("address"), "HTTPS")
      const called = yield* examine(url, "--pin", kid, "--ca", ca, "--call")
      assert.include(called.says("calls"), "echo (echo-1) answered")
      const named = yield* examine(url.replace("127.0.0.1", "localhost"), "--pin", kid, "--ca", ca)
      assert.include(named.says("certificate"), "for another host")
      const plain = yield* examine(url.replace("https:", "http:"), "--pin", kid)
      assert.deepStrictEqual(plain.errors, ["reachable"])
    }),
  )
})
