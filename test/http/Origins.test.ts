/** Requests of pages of other origins are refused, unless the operator allows the origin. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SealedProblem } from "../../src/client/index.ts"
import { NetworksText } from "../../src/layers/config/codecs.ts"
import { startConnector } from "../support/connector.ts"
import { databaseUrl, startGateway, tokenFor } from "../support/gateway.ts"
import { asPageOf, plainRequest } from "../support/plainRequest.ts"
import { failureOf } from "../support/promises.ts"
import { startProxy } from "../support/proxy.ts"
import { INIT } from "../support/sealing.ts"

const APP = "https://app.example.com"
const CHAT = '{"messages":[{"role":"user","content":"x"}]}'

type Headers = Readonly<Record<string, string>>

const servers = {
  proxy: Effect.fnUntraced(function* (allowedOrigins: ReadonlyArray<string>) {
    const { port } = yield* startProxy({ settings: { allowedOrigins, rateLimitInit: 2, rateLimitCompletions: 2 } })
    return { port, path: "/v1/init", page: "/console", headers: {}, body: JSON.stringify(INIT), served: 200 }
  }),
  gateway: Effect.fnUntraced(function* (allowedOrigins: ReadonlyArray<string>) {
    const { url } = yield* startGateway(yield* databaseUrl({ kind: "sqlite" }), {
      ALLOWED_ORIGINS: allowedOrigins.join(","),
      RATE_LIMIT_WRITE: "2",
    })
    const headers = { authorization: `Bearer ${yield* tokenFor("alice")}` }
    return {
      port: Number(new URL(url).port),
      path: "/api/v1/agents",
      page: "/console",
      headers,
      body: '{"name":"a"}',
      served: 201,
    }
  }),
  connector: Effect.fnUntraced(function* () {
    const { port } = yield* startConnector({ sealed: { baseUrl: "http://127.0.0.1:9", pins: ["A"] } })
    return { port, path: "/v1/chat/completions", page: "/health", headers: {}, body: CHAT, served: 502 }
  }),
} as const

const start = Effect.fnUntraced(function* (kind: keyof typeof servers, allowedOrigins: ReadonlyArray<string> = []) {
  const server = yield* servers[kind](allowedOrigins)
  const host = `127.0.0.1:${server.port}`
  const ask = (headers: Headers, options: { readonly method?: string; readonly path?: string } = {}) => {
    const { method = "POST", path = server.path } = options
    const body = method === "POST" ? server.body : undefined
    const all = { host, "content-type": "application/json", ...server.headers, ...headers }
    return Effect.promise(() => plainRequest({ port: server.port, path, method, headers: all, body }))
  }
  return { ...server, host, ask }
})

const KINDS = ["proxy", "gateway", "connector"] as const

/** Headers of a browser's request from a page of another origin. */
const CROSS: ReadonlyArray<Headers> = [
  { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "empty" },
  { "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors", origin: "https://evil.example" },
  { "sec-fetch-site": "same-site", origin: "http://127.0.0.1:1" },
  { "sec-fetch-site": "something-new" },
  // Without TLS and beyond loopback, browsers send only this.
  { origin: "https://evil.example" },
  { origin: "null" },
  { origin: "http://127.0.0.1:1" },
  { origin: "http://localhost" },
  { origin: "nonsense" },
  { origin: "https://app.example.com.evil.example" },
  // Submitting a form is a navigation, too.
  { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document", origin: "null" },
]

describe.each(KINDS)("the %s", (kind) => {
  it.live("refuses requests of pages of other origins without counting them", () =>
    Effect.gen(function* () {
      const { ask, path, served } = yield* start(kind)
      for (const headers of CROSS) {
        const answer = yield* ask(headers)
        assert.strictEqual(answer.status, 403, JSON.stringify(headers))
        assert.include(answer.text, "cross-origin")
        if (kind !== "connector") assert.include(answer.text, "ALLOWED_ORIGINS")
        assert.notProperty(answer.headers, "access-control-allow-origin")
        // A preflight is refused.
        const preflight = { ...headers, "access-control-request-method": "POST" }
        const asked = yield* ask(preflight, { method: "OPTIONS" })
        assert.strictEqual(asked.status, 403)
        assert.notProperty(asked.headers, "access-control-allow-origin")
      }
      const embedded = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" }
      for (const headers of [CROSS[0] ?? {}, embedded]) {
        assert.strictEqual((yield* ask(headers, { method: "GET", path: "/health" })).status, 403)
      }
      assert.strictEqual((yield* ask({})).status, served, path)
    }),
  )

  it.live("serves its own pages, typed addresses, followed links, and programs other than browsers", () =>
    Effect.gen(function* () {
      const { ask, host, page, served } = yield* start(kind)
      const own: ReadonlyArray<Headers> = [
        { "sec-fetch-site": "same-origin", origin: `http://${host}` },
        // Behind a TLS proxy the scheme differs; without Fetch Metadata, the origin counts.
        { origin: `https://${host}` },
      ]
      for (const headers of own) assert.strictEqual((yield* ask(headers)).status, served, JSON.stringify(headers))
      const navigation = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" }
      for (const site of ["none", "cross-site", "same-site", "same-origin"]) {
        const answer = yield* ask({ "sec-fetch-site": site, ...navigation }, { method: "GET", path: page })
        assert.strictEqual(answer.status, 200, site)
        // Without allowed origins, responses do not depend on Origin.
        assert.notMatch(String(answer.headers["vary"]), /\borigin\b/i)
      }
    }),
  )
})

it.live("an origin is compared by host and port, including the default port", () =>
  Effect.gen(function* () {
    const { ask } = yield* start("proxy")
    const get = (host: string, origin: string) =>
      Effect.map(ask({ host, origin }, { method: "GET", path: "/health" }), ({ status }) => status)
    assert.strictEqual(yield* get("localhost", "http://localhost"), 200)
    assert.strictEqual(yield* get("localhost:80", "http://localhost"), 200)
    assert.strictEqual(yield* get("localhost:443", "https://localhost"), 200)
    assert.strictEqual(yield* get("LOCALHOST:3001", "http://localhost:3001"), 200)
    assert.strictEqual(yield* get("[::1]:3001", "http://[::1]:3001"), 200)
    assert.strictEqual(yield* get("localhost:80", "https://localhost"), 403)
    assert.strictEqual(yield* get("localhost:3001", "http://localhost"), 403)
    assert.strictEqual(yield* get("localhost", "http://localhost:3001"), 403)
    assert.strictEqual(yield* get("localhost", "file://localhost"), 403)
    assert.strictEqual(yield* get("localhost", "http://localhost/"), 403)
  }),
)

it.live("X-Forwarded-Host counts only from a trusted proxy", () =>
  Effect.gen(function* () {
    const forwarded = { "x-forwarded-for": "192.0.2.1", "x-forwarded-host": "sealgate.example.com" }
    const headers = { host: "localhost:3001", origin: "https://sealgate.example.com", ...forwarded }
    for (const [trustedProxies, status] of [
      ["127.0.0.1", 200],
      ["192.0.2.1", 403],
    ] as const) {
      const { port } = yield* startProxy({
        settings: { trustedProxies: yield* Schema.decodeEffect(NetworksText)(trustedProxies) },
      })
      const answer = yield* Effect.promise(() => plainRequest({ port, path: "/health", headers }))
      assert.strictEqual(answer.status, status, trustedProxies)
    }
  }),
)

describe.each(["proxy", "gateway"] as const)("the %s with ALLOWED_ORIGINS", (kind) => {
  const PAGE = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors", origin: APP }
  const OTHER = "chrome-extension://abcdefgh"

  it.live("serves pages of those origins, and lets them read responses and refusals", () =>
    Effect.gen(function* () {
      const { ask, served } = yield* start(kind, [APP, OTHER])
      const exposed = "retry-after"
      const statuses: Array<number> = []
      for (const origin of [APP, OTHER, APP]) {
        const { headers, status } = yield* ask({ ...PAGE, origin })
        statuses.push(status)
        assert.strictEqual(headers["access-control-allow-origin"], origin)
        assert.include(String(headers["access-control-expose-headers"]), exposed)
        assert.match(String(headers["vary"]), /\borigin\b/i)
        assert.notProperty(headers, "access-control-allow-credentials")
      }
      assert.deepStrictEqual(statuses, [served, served, 429])
      // Without an origin nothing is allowed, but caches must know that the response depends on it.
      const { headers, status } = yield* ask({}, { method: "GET", path: "/health" })
      assert.strictEqual(status, 200)
      assert.notProperty(headers, "access-control-allow-origin")
      assert.match(String(headers["vary"]), /\borigin\b/i)
      const missing = yield* ask(PAGE, { method: "GET", path: "/nothing" })
      assert.deepStrictEqual([missing.status, missing.headers["access-control-allow-origin"]], [404, APP])
      for (const origin of ["https://evil.example", `${APP}:8443`, "http://app.example.com", "null"]) {
        const refused = yield* ask({ ...PAGE, origin })
        assert.strictEqual(refused.status, 403, origin)
        assert.notProperty(refused.headers, "access-control-allow-origin")
      }
    }),
  )

  it.live("answers their preflights without counting them", () =>
    Effect.gen(function* () {
      const { ask, served } = yield* start(kind, [APP])
      const wish = {
        ...PAGE,
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type,sealgate-route",
      }
      for (let i = 0; i < 5; i++) {
        const { headers, status, text } = yield* ask(wish, { method: "OPTIONS" })
        assert.deepStrictEqual([status, text], [204, ""])
        assert.strictEqual(headers["access-control-allow-origin"], APP)
        assert.include(String(headers["access-control-allow-methods"]), "POST")
        assert.strictEqual(headers["access-control-allow-headers"], "content-type,sealgate-route")
        assert.match(String(headers["access-control-max-age"]), /^\d+$/)
        assert.match(String(headers["vary"]), /\borigin\b/i)
        assert.notProperty(headers, "access-control-allow-credentials")
      }
      assert.strictEqual((yield* ask(PAGE)).status, served)
      // Other OPTIONS requests get the usual answer.
      for (const headers of [{}, PAGE]) {
        assert.include([405, 429], (yield* ask(headers, { method: "OPTIONS" })).status)
      }
    }),
  )
})

it.live("a client's error names its page's origin, and says that nothing was served", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    yield* Effect.promise(async () => {
      const client = proxy.client({ fetch: asPageOf("https://evil.example") })
      const error = await failureOf(client.complete({ prompt: "hello" }))
      assert.instanceOf(error, SealedProblem)
      assert.deepInclude(error.problem, { status: 403, code: "cross-origin", retryable: false })
      assert.deepInclude(error, { sealed: false, mayHaveBeenServed: false })
      assert.include(error.message, "ALLOWED_ORIGINS")
    })
  }),
)
