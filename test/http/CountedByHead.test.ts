/** Requests count by their heads, before a body is read, even if they are refused later. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import {
  type Call,
  call,
  callOperator,
  databaseUrl,
  gatedUpstream,
  problemIn,
  startGateway,
  tokenFor,
} from "../support/gateway.ts"
import { parsePrometheus, valueOf } from "../support/prometheus.ts"
import { startProxy } from "../support/proxy.ts"
import { beginSession, INIT, post, seal } from "../support/sealing.ts"
import { openSocket } from "../support/sockets.ts"

const LARGE = 1_000_000

/** The head of a request without its body. */
const headOf = (path: string, more = "") =>
  `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n${more}content-length: ${LARGE}\r\n\r\n`

describe("the proxy", () => {
  const refused: ReadonlyArray<readonly [method: string, path: string, options: Call, status: number]> = [
    ["POST", "/v1/completions", { body: "{" }, 400],
    ["POST", "/v1/completions", { body: "x".repeat(5000) }, 413],
    ["PUT", "/v1/completions", { body: {} }, 405],
    ["POST", "/v1/nothing", { body: {} }, 404],
    ["DELETE", "/health", {}, 405],
    ["POST", "/V1/%63ompletions/", { body: "{" }, 400],
  ]
  for (const [method, path, options, status] of refused) {
    it.live(`counts a ${method} of ${path} that is answered with ${status}`, () =>
      Effect.gen(function* () {
        const proxy = yield* startProxy({ settings: { rateLimitCompletions: 2, maxRequestBytes: 4096 } })
        const ask = Effect.map(call(proxy, method, path, options), (answer) => answer.status)
        assert.deepStrictEqual(yield* Effect.all([ask, ask, ask]), [status, status, 429])
        const other = yield* call(proxy, "POST", "/v1/completions", { body: {} })
        assert.strictEqual(other.status, 429)
        assert.match(other.headers.get("retry-after") ?? "", /^[1-9]\d*$/)
        // Sessions and GET requests have separate limits.
        assert.strictEqual((yield* call(proxy, "POST", "/v1/init", { body: INIT })).status, 200)
        assert.strictEqual((yield* call(proxy, "GET", "/v1/keys")).status, 200)
      }),
    )
  }

  for (const path of ["/v1/init", "/V1/INIT", "/v1/%69nit", "/v1//init/", "/v1/init;x", "/v1/init?x"]) {
    it.live(`counts a session that is begun at ${path} as one`, () =>
      Effect.gen(function* () {
        const proxy = yield* startProxy({ settings: { rateLimitInit: 1, rateLimitCompletions: 100 } })
        const before = parsePrometheus((yield* callOperator(proxy, "/metrics")).text)
        assert.strictEqual((yield* call(proxy, "POST", path, { body: INIT })).status, 200)
        assert.strictEqual((yield* call(proxy, "POST", "/v1/init", { body: "{" })).status, 429)
        assert.strictEqual((yield* call(proxy, "POST", path, { body: {} })).status, 429)
        // Metrics have the same route, too.
        const after = parsePrometheus((yield* callOperator(proxy, "/metrics")).text)
        const labels = { method: "POST", route: "/v1/init" }
        const counted = (metrics: typeof after, status: string) =>
          valueOf(metrics, "sealgate_http_requests_total", { ...labels, status })
        assert.strictEqual(counted(after, "200") - counted(before, "200"), 1)
        assert.strictEqual(counted(after, "429") - counted(before, "429"), 2)
        // Without the counts of other tests in this process.
      }).pipe(Effect.provideService(Metric.MetricRegistry, new Map())),
    )
  }

  it.live("refuses a request beyond the limit at once, before its body arrives", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy({ settings: { rateLimitInit: 1, rateLimitCompletions: 1 } })
      for (const path of ["/v1/init", "/v1/completions"]) {
        assert.include([200, 400], (yield* call(proxy, "POST", path, { body: {} })).status)
        const connection = yield* openSocket(proxy.port, headOf(path))
        const answer = yield* Effect.promise(() => connection.ended)
        assert.match(answer, /^HTTP\/1\.1 429 /)
        assert.match(answer, /^retry-after: [1-9]\d*\r$/im)
        assert.match(answer, /^connection: close\r$/im)
      }
    }),
  )

  it.live("counts completions whose body is still arriving as in flight", () =>
    Effect.gen(function* () {
      const gated = yield* gatedUpstream
      const proxy = yield* startProxy({ settings: { maxConcurrentPerClient: 1 }, upstream: gated.layer })
      const session = yield* Effect.promise(() => beginSession(proxy))
      yield* gated.open
      const { body } = yield* Effect.promise(() => seal(session, { prompt: "hello" }))
      const complete = Effect.promise(async () => (await post(proxy, "/v1/completions", body)).status)
      const slow = yield* openSocket(proxy.port, headOf("/v1/completions", "expect: 100-continue\r\n"))
      // The server asked for the body, so it has checked the head.
      yield* Effect.promise(() => slow.receives(/^HTTP\/1\.1 100 /))
      assert.strictEqual(yield* complete, 429)
      const late = yield* openSocket(proxy.port, headOf("/v1/completions"))
      assert.match(yield* Effect.promise(() => late.ended), /^HTTP\/1\.1 429 [^]*\r\nretry-after: 1\r\n/i)
      // Sessions and GET requests do not count as completions.
      for (let i = 0; i < 3; i++) yield* openSocket(proxy.port, headOf("/v1/init"))
      assert.strictEqual((yield* call(proxy, "POST", "/v1/init", { body: INIT })).status, 200)
      assert.strictEqual((yield* call(proxy, "GET", "/v1/keys")).status, 200)
      slow.socket.destroy()
      yield* Effect.repeat(complete, { until: (status) => status !== 429 })
    }),
  )
})

describe("the gateway", () => {
  const MISSING = "01890a5d-ac96-774b-bcce-b302099a8057"
  const execute = `/api/v1/agents/${MISSING}/execute`

  const refused: ReadonlyArray<readonly [method: string, path: string, options: Call, status: number, kind: string]> = [
    ["POST", "/api/v1/agents", { body: "{" }, 400, "write"],
    ["POST", execute, { body: "x".repeat(5000) }, 413, "execute"],
    ["GET", "/api/v1/agents?limit=0", {}, 400, "read"],
    ["HEAD", "/api/v1/agents?limit=0", {}, 400, "read"],
  ]
  for (const [method, path, options, status, kind] of refused) {
    it.live(`counts a ${method} of ${path} that is answered with ${status} to ${kind}`, () =>
      Effect.gen(function* () {
        const gateway = yield* startGateway(yield* databaseUrl({ kind: "sqlite" }), {
          [`RATE_LIMIT_${kind.toUpperCase()}`]: "2",
          MAX_REQUEST_BYTES: "4KiB",
        })
        const token = yield* tokenFor("alice")
        const ask = call(gateway, method, path, { token, ...options })
        const answers = yield* Effect.all([ask, ask, ask])
        assert.deepStrictEqual(
          answers.map((answer) => answer.status),
          [status, status, 429],
        )
        const last = answers[2]
        assert.include(last.headers.get("ratelimit-policy") ?? "", `"${kind}-per-address";q=2;w=60`)
        assert.match(last.headers.get("ratelimit") ?? "", new RegExp(`^"${kind}-per-address";r=0;t=\\d+$`))
        assert.match(last.headers.get("retry-after") ?? "", /^[1-9]\d*$/)
        if (method !== "HEAD") assert.strictEqual(problemIn(last).code, "rate-limited")
      }),
    )
  }

  it.live("requires a token and counts a request before its body arrives", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl({ kind: "sqlite" }), { RATE_LIMIT_WRITE: "2" })
      const port = Number(new URL(gateway.url).port)
      const ask = Effect.fnUntraced(function* (authorization: string) {
        const connection = yield* openSocket(port, headOf("/api/v1/agents", `authorization: ${authorization}\r\n`))
        return yield* Effect.promise(() => connection.ended)
      })
      for (const status of [401, 401, 429]) {
        const answer = yield* ask("Bearer guess")
        assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `))
        assert.match(answer, /^connection: close\r$/im)
      }
      // Guessed tokens count against the address, like its other requests.
      assert.match(yield* ask(`Bearer ${yield* tokenFor("alice")}`), /^HTTP\/1\.1 429 /)
    }),
  )
})
