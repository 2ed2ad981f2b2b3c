/** Callers of a proxy and their limits, over real sockets and through a TLS terminator. */
import { randomUUID } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Logger, Redacted } from "effect"
import { IpNetwork } from "effect/net"
import type { SealedProblem } from "../../src/client/errors.ts"
import { sealRequest } from "../../src/client/sealed/sealRequest.ts"
import { newCallerKey } from "../../src/services/access/CallerKeys.ts"
import { mintToken } from "../../src/services/access/mintToken.ts"
import { chatCommand } from "../../src/cli/chatCommand.ts"
import { hasOpenssl, httpsFetch } from "../support/certificates.ts"
import { run } from "../support/cli.ts"
import { startConnector } from "../support/connector.ts"
import { gatedUpstream } from "../support/gateway.ts"
import { failureOf } from "../support/promises.ts"
import { type ProxyOptions, startProxy, temporaryFolder } from "../support/proxy.ts"
import { beginSession, payloadOf, post, seal } from "../support/sealing.ts"
import { sealedSetup } from "../support/sealedSetup.ts"
import { runTlsTerminator } from "../support/tlsTerminator.ts"

const [ALICE, BOB, STRANGER] = [newCallerKey("alice"), newCallerKey("bob"), newCallerKey("mallory")]

const credentialOf = ({ key }: typeof ALICE): string => `Bearer ${Redacted.value(key)}`

const keysFile = Effect.map(temporaryFolder, (folder) => {
  const file = join(folder, "callers")
  writeFileSync(file, `${ALICE.line}\n${BOB.line}\n`)
  return file
})

const closedProxy = Effect.fnUntraced(function* (options: ProxyOptions = {}) {
  const callerKeysFile = yield* keysFile
  return yield* startProxy({ ...options, settings: { callerKeysFile, ...options.settings } })
})

// The client's error for a refusal of the proxy.
const problemOf = async (promise: Promise<unknown>) => {
  const { mayHaveBeenServed, problem, sealed } = (await failureOf(promise)) as SealedProblem
  return { code: problem.code, status: problem.status, sealed, mayHaveBeenServed }
}

const REFUSED = { code: "unauthorized", status: 401, sealed: true, mayHaveBeenServed: false }

describe("a proxy that knows its callers", () => {
  it.live("serves only callers that it knows, and calls no provider for others", () =>
    Effect.gen(function* () {
      const { fake, proxy, wire } = yield* sealedSetup({ callerKeysFile: yield* keysFile })
      fake.always({ text: "hello" })
      const as = (credential?: string) =>
        proxy.client({ baseUrl: wire.url, ...(credential === undefined ? {} : { credential }) })
      yield* Effect.promise(async () => {
        for (const credential of [undefined, "", "Bearer x", credentialOf(STRANGER), Redacted.value(ALICE.key)]) {
          assert.deepStrictEqual(await problemOf(as(credential).complete({ prompt: "x" })), REFUSED)
          const read = as(credential)
            .stream({ prompt: "x" })
            .then((stream) => stream.text())
          assert.deepStrictEqual(await problemOf(read), REFUSED)
        }
        assert.strictEqual(fake.requests.length, 0)
        const { completion } = await as(credentialOf(ALICE)).complete({ prompt: "x" })
        assert.strictEqual(completion.choices[0]?.message.content, "hello")
        const asked = proxy.client({ credential: () => Promise.resolve(credentialOf(BOB)) })
        assert.strictEqual(await (await asked.stream({ prompt: "x" })).text(), "hello")
      })
      assert.notInclude(wire.seen(), Redacted.value(ALICE.key))
      assert.notMatch(wire.seen(), /^authorization:/im)
    }),
  )

  it.live("accepts tokens of an issuer, and ignores credentials outside the seal", () =>
    Effect.gen(function* () {
      const secret = Redacted.make("a secret that is long enough to be one")
      const proxy = yield* closedProxy({ settings: { jwtSecret: secret } })
      const options = { secret, issuer: "sealgate", audience: "sealgate", roles: [], ttl: Duration.hours(1) }
      const token = Redacted.value(yield* mintToken({ ...options, subject: "carol" }))
      yield* Effect.promise(async () => {
        for (const credential of [`Bearer ${token}`, credentialOf(ALICE)]) {
          await proxy.client({ credential }).complete({ prompt: "x" })
        }
        const outside = proxy.client({
          fetch: (url, init) =>
            fetch(url, { ...init, headers: [...new Headers(init?.headers), ["authorization", `Bearer ${token}`]] }),
        })
        assert.deepStrictEqual(await problemOf(outside.complete({ prompt: "x" })), REFUSED)
      })
    }),
  )

  it.live.runIf(hasOpenssl)(
    "applies its limits behind a TLS terminator, per caller and per source address of credentials",
    () =>
      Effect.gen(function* () {
        const gated = yield* gatedUpstream
        const proxy = yield* closedProxy({
          upstream: gated.layer,
          settings: {
            trustedProxies: [IpNetwork.fromInputUnsafe("127.0.0.1/32")],
            rateLimitCaller: 3,
            maxConcurrentPerCaller: 2,
            rateLimitRefused: 2,
          },
        })
        const { certificate, url } = yield* runTlsTerminator(proxy.port)
        const from = (localAddress: string, caller: typeof ALICE, claimed = "203.0.113.9") => {
          const send = httpsFetch(certificate, undefined, { localAddress })
          const headers = { "x-forwarded-for": claimed }
          return proxy.client({
            baseUrl: url,
            credential: credentialOf(caller),
            fetch: (url, init) =>
              send(url, { ...init, headers: { ...Object.fromEntries(new Headers(init.headers)), ...headers } }),
          })
        }
        const ask = (...whose: Parameters<typeof from>) => from(...whose).complete({ prompt: "x" })
        const limited = { code: "rate-limited", sealed: true, mayHaveBeenServed: false }
        const running = [ask("127.0.0.2", ALICE), ask("127.0.0.3", ALICE)]
        yield* Effect.repeat(Effect.sync(gated.entered), { until: (entered) => entered === 2 })
        yield* Effect.promise(async () => {
          // Two of her requests are in flight; the third, from any address, uses the last of this minute.
          assert.deepInclude(await problemOf(ask("127.0.0.4", ALICE)), limited)
        })
        const bobs = ask("127.0.0.2", BOB)
        yield* Effect.repeat(Effect.sync(gated.entered), { until: (entered) => entered === 3 })
        yield* gated.open
        yield* Effect.promise(async () => {
          await Promise.all([...running, bobs])
          for (const address of ["127.0.0.2", "127.0.0.5"]) {
            assert.deepInclude(await problemOf(ask(address, ALICE)), limited)
          }
          // Refused credentials count by real address, whatever address a client claims.
          for (const claimed of ["198.51.100.1", "198.51.100.2"]) {
            assert.deepStrictEqual(await problemOf(ask("127.0.0.6", STRANGER, claimed)), REFUSED)
          }
          const blocked = await problemOf(ask("127.0.0.6", STRANGER, "198.51.100.3"))
          assert.deepInclude(blocked, { code: "rate-limited", sealed: false })
          assert.deepStrictEqual(await problemOf(ask("127.0.0.7", STRANGER)), REFUSED)
          await ask("127.0.0.7", BOB)
        })
        assert.strictEqual(gated.entered(), 4)
      }),
  )

  it.live(
    "counts each request that it opens without a valid credential as refused, whatever else is wrong with it",
    () =>
      Effect.gen(function* () {
        const proxy = yield* closedProxy({ settings: { rateLimitRefused: 3 } })
        yield* Effect.promise(async () => {
          const session = await beginSession(proxy)
          const statusOf = async (payload: string, credential = "") => {
            const requestId = randomUUID()
            const { body } = await sealRequest(session, { requestId, payload, credential })
            return (await post(proxy, "/v1/completions", body)).status
          }
          const stale = payloadOf(session, { prompt: "x" }).replace(/"issued_at":\d+/, '"issued_at":0')
          const wrong = ["no JSON", "{}", stale]
          for (const payload of [...wrong, ...wrong]) {
            assert.strictEqual(await statusOf(payload, credentialOf(ALICE)), 200)
          }
          for (const payload of wrong) assert.strictEqual(await statusOf(payload), 200)
          assert.strictEqual(await statusOf("{}"), 429)
        })
      }),
  )

  it.live("keeps a caller's unused session, however many sessions strangers use", () =>
    Effect.gen(function* () {
      const proxy = yield* closedProxy({ settings: { sessionMaxLive: 4 } })
      yield* Effect.promise(async () => {
        for (let i = 0; i < 3; i++) {
          const { body } = await seal(await beginSession(proxy), { prompt: "x" })
          assert.strictEqual((await post(proxy, "/v1/completions", body)).status, 200)
        }
        const honest = await beginSession(proxy)
        for (let i = 0; i < 3; i++) await beginSession(proxy)
        const { body } = await seal(honest, { prompt: "x" })
        assert.strictEqual((await post(proxy, "/v1/completions", body)).status, 200)
      })
    }),
  )

  it.live("accepts `chat` and the connector with a credential from environment or file", () =>
    Effect.gen(function* () {
      const proxy = yield* closedProxy()
      const file = join(yield* temporaryFolder, "credential")
      // A bare key, in the format of `sealgate key new`.
      writeFileSync(file, `${Redacted.value(ALICE.key)}\n`)
      const args = ["--proxy", proxy.url, "--pin", proxy.kid, "hello"]
      assert.strictEqual((yield* run(chatCommand, args)).code, 1)
      const { code, stdout } = yield* run(chatCommand, ["--credential-file", file, ...args])
      assert.deepStrictEqual([code, stdout], [0, "hello"])
      // As PowerShell's `>` writes it.
      writeFileSync(file, `\ufeff${Redacted.value(ALICE.key)}\r\n`, "utf16le")
      assert.strictEqual((yield* run(chatCommand, ["--credential-file", file, ...args])).code, 0)
      writeFileSync(file, Buffer.from([0xff, 0xfe, 0]))
      assert.strictEqual((yield* run(chatCommand, ["--credential-file", file, ...args])).code, 2)
      assert.strictEqual((yield* run(chatCommand, ["--credential-file", `${file}.not`, ...args])).code, 2)
      const connector = yield* startConnector({
        sealed: { baseUrl: proxy.url, pins: [proxy.kid], credential: credentialOf(BOB) },
      })
      const response = yield* Effect.promise(() =>
        fetch(`${connector.url}/v1/chat/completions`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ messages: [{ role: "user", content: "hello" }] }),
        }),
      )
      assert.strictEqual(response.status, 200)
    }),
  )
})

describe("a proxy without known callers", () => {
  const logsOf = Effect.fnUntraced(function* (settings: ProxyOptions["settings"]) {
    const logs: Array<string> = []
    const logger = Logger.make(({ message }) => void logs.push(String(message)))
    yield* startProxy({ settings: settings ?? {}, services: Logger.layer([logger]) })
    return logs.filter((line) => line.includes("CALLER_KEYS_FILE"))
  })

  it.live("warns at start, unless only its own machine reaches it", () =>
    Effect.gen(function* () {
      assert.lengthOf(yield* logsOf({ host: "0.0.0.0" }), 1)
      assert.lengthOf(yield* logsOf({ host: "127.0.0.1" }), 0)
      // With trusted proxies, other machines reach it, even on loopback.
      const trustedProxies = [IpNetwork.fromInputUnsafe("127.0.0.1/32")]
      assert.lengthOf(yield* logsOf({ host: "127.0.0.1", trustedProxies }), 1)
      assert.lengthOf(yield* logsOf({ host: "0.0.0.0", callerKeysFile: yield* keysFile }), 0)
    }),
  )

  it.live("accepts any credential", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      yield* Effect.promise(() => proxy.client({ credential: credentialOf(STRANGER) }).complete({ prompt: "x" }))
    }),
  )
})
