/** The gateway's HTTP surface, byte by byte: what is refused and how, limits, and what operators ask. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, type Scope } from "effect"
import { Upstream } from "../../src/services/upstream/Upstream.ts"
import { sqlite } from "../support/databases.ts"
import {
  type Answer,
  type Call,
  call,
  callOperator,
  databaseUrl,
  gatedUpstream,
  problemIn,
  startGateway,
  type TestGateway,
  tokenFor,
} from "../support/gateway.ts"
import { assertDeclared, parsePrometheus } from "../support/prometheus.ts"
import { openSocket } from "../support/sockets.ts"

const MISSING = "01890a5d-ac96-774b-bcce-b302099a8057"
const AGENT = { name: "a" }

const gatewayWith = (environment?: Readonly<Record<string, string>>, upstream?: Layer.Layer<Upstream>) =>
  Effect.flatMap(databaseUrl(sqlite), (url) => startGateway(url, environment, upstream))

const test = <E>(
  name: string,
  body: (gateway: TestGateway, token: string) => Effect.Effect<void, E, Scope.Scope>,
  environment?: Readonly<Record<string, string>>,
) =>
  it.live(name, () =>
    Effect.gen(function* () {
      yield* body(yield* gatewayWith(environment), yield* tokenFor("alice"))
    }),
  )

const isTraceId = /^[0-9a-f]{32}$/

/** The problem with everything that every problem has. */
const checked = (answer: Answer, path: string) => {
  const problem = problemIn(answer)
  assert.strictEqual(problem.status, answer.status)
  assert.strictEqual(problem.type, `urn:sealgate:problem:${problem.code}`)
  assert.match(problem.code, /^[a-z]+(-[a-z]+)*$/)
  assert.match(problem.trace_id ?? "", isTraceId)
  assert.strictEqual(problem.instance, path.replace(/\?.*$/, ""))
  assert.strictEqual(answer.headers.get("cache-control"), "no-store")
  return problem
}

describe("a refusing gateway", () => {
  interface Refused extends Call {
    readonly status: number
    readonly code: string
    readonly errors?: ReadonlyArray<string>
    readonly header?: readonly [name: string, value: string]
  }

  const execute = `/api/v1/agents/${MISSING}/execute`
  const config = "/api/v1/routing/config"
  const refused: ReadonlyArray<readonly [request: string, expected: Refused]> = [
    ["GET /api/v1/nothing", { status: 404, code: "not-found" }],
    ["GET /api/v1/agents/a/b/c", { status: 404, code: "not-found" }],
    // Its id is not UTF-8.
    ["GET /api/v1/agents/%E0%A4%A", { status: 404, code: "not-found" }],
    ["PUT /api/v1/agents", { status: 405, code: "method-not-allowed", header: ["allow", "POST, GET, HEAD"] }],
    [
      `POST /api/v1/agents/${MISSING}`,
      { status: 405, code: "method-not-allowed", header: ["allow", "GET, HEAD, PATCH, DELETE"] },
    ],
    ["DELETE /health", { status: 405, code: "method-not-allowed", header: ["allow", "GET, HEAD"] }],
    [
      "POST /api/v1/agents",
      { status: 415, code: "unsupported-media-type", body: "name=a", headers: { "content-type": "text/plain" } },
    ],
    ["POST /api/v1/agents", { status: 413, code: "too-large", body: { name: "x".repeat(5000) } }],
    ["POST /api/v1/agents", { status: 400, code: "invalid-request", body: "{", errors: ["payload"] }],
    ["POST /api/v1/agents", { status: 400, code: "invalid-request", body: "", errors: ["payload"] }],
    ["POST /api/v1/agents", { status: 400, code: "invalid-request", body: "[]", errors: ["payload"] }],
    [
      "POST /api/v1/agents",
      {
        status: 400,
        code: "invalid-request",
        body: { name: 7, limits: { max_rounds: 4 }, metadata: { a: 1 }, misspelt: true },
        errors: ["payload.misspelt", "payload.name", "payload.limits.max_rounds", "payload.metadata.a"],
      },
    ],
    [
      "POST /api/v1/agents",
      {
        status: 400,
        code: "invalid-request",
        body: {
          name: "a",
          role: "x".repeat(1001),
          model_policy: { allow: ["x".repeat(257)], deny: Array.from({ length: 65 }, () => "*") },
        },
        errors: ["payload.role", "payload.model_policy.allow.0", "payload.model_policy.deny"],
      },
    ],
    ["GET /api/v1/agents?limit=0", { status: 400, code: "invalid-request", errors: ["query.limit"] }],
    ["GET /api/v1/agents?limit=101", { status: 400, code: "invalid-request", errors: ["query.limit"] }],
    ["GET /api/v1/agents?limit=ten", { status: 400, code: "invalid-request", errors: ["query.limit"] }],
    ["GET /api/v1/agents?cursor=x", { status: 400, code: "cursor-invalid" }],
    ["GET /api/v1/jobs?state=failed", { status: 400, code: "invalid-request", errors: ["query.state"] }],
    ["GET /api/v1/jobs?status=lost", { status: 400, code: "invalid-request", errors: ["query.status"] }],
    ["GET /api/v1/jobs?agent_id=%00", { status: 400, code: "invalid-request", errors: ["query.agent_id"] }],
    [`GET /api/v1/jobs/${MISSING}?wait=61`, { status: 400, code: "invalid-request", errors: ["query.wait"] }],
    [`GET /api/v1/jobs/${MISSING}?wait=-1`, { status: 400, code: "invalid-request", errors: ["query.wait"] }],
    ["GET /api/v1/agents/no-id", { status: 404, code: "agent-not-found" }],
    ["GET /api/v1/agents/%00", { status: 404, code: "agent-not-found" }],
    ["PATCH /api/v1/agents/no-id", { status: 404, code: "agent-not-found", body: AGENT }],
    ["DELETE /api/v1/agents/no-id", { status: 404, code: "agent-not-found" }],
    ["GET /api/v1/jobs/no-id", { status: 404, code: "job-not-found" }],
    ["GET /api/v1/jobs/no-id/events", { status: 404, code: "job-not-found" }],
    ["POST /api/v1/jobs/no-id/cancel", { status: 404, code: "job-not-found" }],
    [
      `GET /api/v1/jobs/${MISSING}/events`,
      {
        status: 400,
        code: "invalid-request",
        headers: { "last-event-id": "latest" },
        errors: ["headers.last-event-id"],
      },
    ],
    [`POST ${execute}`, { status: 404, code: "agent-not-found", body: { task: "x" } }],
    [`POST ${execute}`, { status: 400, code: "invalid-request", body: { task: "" }, errors: ["payload.task"] }],
    [`POST ${execute}`, { status: 400, code: "invalid-request", body: {}, errors: ["payload"] }],
    [
      `POST ${execute}`,
      {
        status: 400,
        code: "invalid-request",
        body: { task: "x", messages: [{ role: "user", content: "y" }] },
        errors: ["payload"],
      },
    ],
    [
      `POST ${execute}`,
      {
        status: 400,
        code: "invalid-request",
        body: { task: "x", options: { rounds: 4, samples: 0 }, mode: "Too fast" },
        errors: ["payload.options.rounds", "payload.options.samples", "payload.mode"],
      },
    ],
    [
      `POST ${execute}`,
      {
        status: 400,
        code: "invalid-request",
        body: { task: "x" },
        headers: { "idempotency-key": "two words" },
        errors: ["headers.idempotency-key"],
      },
    ],
    ["GET /api/v1/routing/stats?from=yesterday", { status: 400, code: "invalid-request", errors: ["query.from"] }],
    [
      "GET /api/v1/routing/stats?from=2030-01-02T00:00:00Z&to=2030-01-01T00:00:00Z",
      { status: 400, code: "invalid-request", errors: ["query.from"] },
    ],
    ["GET /api/v1/routing/stats?scope=world", { status: 400, code: "invalid-request", errors: ["query.scope"] }],
    ["GET /api/v1/routing/stats?interval=minute", { status: 400, code: "invalid-request", errors: ["query.interval"] }],
    [
      "GET /api/v1/routing/stats?from=2030-01-01T00:00:00Z&to=2030-02-01T01:00:00.001Z&interval=hour",
      { status: 400, code: "invalid-request", errors: ["query.interval"] },
    ],
    [
      "GET /api/v1/routing/stats?from=1970-01-01T00:00:00Z&to=2030-01-01T00:00:00Z&interval=day",
      { status: 400, code: "invalid-request", errors: ["query.interval"] },
    ],
    ["GET /api/v1/routing/stats?scope=all&interval=day", { status: 403, code: "forbidden" }],
    ["GET /api/v1/routing/stats?scope=all", { status: 403, code: "forbidden" }],
    [`GET ${config}`, { status: 403, code: "forbidden" }],
    // A caller that may not make the change learns nothing about its mistakes.
    [`PUT ${config}`, { status: 403, code: "forbidden", body: { strategy: "none" } }],
  ]

  test(
    "sends a problem document with a remedy",
    (gateway, token) =>
      Effect.forEach(
        refused,
        Effect.fnUntraced(function* ([request, { code, errors, header, status, ...options }]) {
          const [method = "", path = ""] = request.split(" ")
          const answer = yield* call(gateway, method, path, { token, ...options })
          assert.strictEqual(answer.status, status, `${request} ${answer.text}`)
          const problem = checked(answer, path)
          assert.strictEqual(problem.code, code, request)
          assert.strictEqual(problem.retryable, false, request)
          if (errors !== undefined) {
            const paths = (problem.errors ?? []).map((issue) => issue.path)
            assert.sameMembers(paths, [...errors], `${request} ${answer.text}`)
          }
          if (header !== undefined) assert.strictEqual(answer.headers.get(header[0]), header[1], request)
        }),
        { discard: true },
      ),
    { MAX_REQUEST_BYTES: "4KiB" },
  )

  test(
    "cuts off a body without a length that is too large",
    (gateway, token) =>
      Effect.gen(function* () {
        const head = `POST /api/v1/agents HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`
        const port = Number(new URL(gateway.url).port)
        const connection = yield* openSocket(port, `${head}2000\r\n${"x".repeat(0x2000)}\r\n0\r\n\r\n`)
        const answer = yield* Effect.promise(() => connection.ended)
        assert.match(answer, /^HTTP\/1\.1 413 /)
        assert.include(answer, '"code":"too-large"')
      }),
    { MAX_REQUEST_BYTES: "4KiB" },
  )

  test("names the right base URL to clients of models that use a wrong one", (gateway, token) =>
    Effect.forEach(
      ["/chat/completions", "/api/v1/chat/completions", "/v1/v1/messages", "/v1/chat/completions/chat/completions"],
      Effect.fnUntraced(function* (path) {
        const answer = yield* call(gateway, "POST", path, { token, body: {} })
        assert.strictEqual(answer.status, 404, path)
        // OpenAI's SDKs show this member.
        const { error } = answer.json
        assert.include(JSON.stringify(error), "this server's address and /v1", path)
      }),
      { discard: true },
    ))

  test("answers every invalid token in the same way", (gateway, good) =>
    Effect.gen(function* () {
      const routes = [
        ["POST", "/api/v1/agents"],
        ["GET", "/api/v1/agents"],
        ["GET", `/api/v1/agents/${MISSING}`],
        ["PATCH", `/api/v1/agents/${MISSING}`],
        ["DELETE", `/api/v1/agents/${MISSING}`],
        ["POST", `/api/v1/agents/${MISSING}/execute`],
        ["GET", "/api/v1/jobs"],
        ["GET", `/api/v1/jobs/${MISSING}`],
        ["GET", `/api/v1/jobs/${MISSING}/events`],
        ["POST", `/api/v1/jobs/${MISSING}/cancel`],
        ["GET", "/api/v1/routing/stats"],
        ["GET", "/api/v1/routing/config"],
        ["PUT", "/api/v1/routing/config"],
      ] as const
      const credentials = [
        undefined,
        "Bearer",
        "Bearer x",
        `Basic ${good}`,
        `Bearer ${good}x`,
        `bearer ${good.slice(1)}`,
      ]
      for (const [method, path] of routes) {
        for (const authorization of credentials) {
          const headers: Record<string, string> = authorization === undefined ? {} : { authorization }
          const answer = yield* call(gateway, method, path, { headers, ...(method === "GET" ? {} : { body: "{" }) })
          const problem = checked(answer, path)
          assert.deepInclude(problem, { status: 401, code: "unauthorized", title: "A valid key or token is needed." })
          assert.sameMembers(Object.keys(problem), [
            "code",
            "instance",
            "retryable",
            "status",
            "title",
            "trace_id",
            "type",
          ])
          const presented = /^bearer ./i.test(authorization ?? "")
          assert.strictEqual(
            answer.headers.get("www-authenticate"),
            `Bearer realm="sealgate"${presented ? ', error="invalid_token"' : ""}`,
          )
        }
      }
      assert.strictEqual(
        (yield* call(gateway, "GET", "/api/v1/agents", { headers: { authorization: `bEARER ${good}` } })).status,
        200,
      )
    }))

  it.live("reveals nothing of a defect except the trace", () =>
    Effect.gen(function* () {
      const broken = Layer.effect(
        Upstream,
        Effect.map(Upstream, (echo) => Upstream.of({ ...echo, offering: Effect.die(new Error("canary-internals")) })),
      ).pipe(Layer.provide(Upstream.layerEcho))
      const gateway = yield* gatewayWith({}, broken)
      const token = yield* tokenFor("root", { roles: ["admin"] })
      const path = "/api/v1/routing/config"
      const answer = yield* call(gateway, "GET", path, { token })
      assert.deepInclude(checked(answer, path), { status: 500, code: "internal", retryable: false })
      assert.notInclude(answer.text, "canary")
    }),
  )
})

describe("an authenticated answer of the gateway", () => {
  test("is never cached", (gateway, token) =>
    Effect.gen(function* () {
      const created = yield* call(gateway, "POST", "/api/v1/agents", { token, body: AGENT })
      const agent = `/api/v1/agents/${created.json["id"]}`
      const answers = [
        created,
        yield* call(gateway, "GET", "/api/v1/agents", { token }),
        yield* call(gateway, "GET", agent, { token }),
        yield* call(gateway, "PATCH", agent, { token, body: { name: "b" } }),
        yield* call(gateway, "POST", `${agent}/execute`, { token, body: { task: "x" } }),
        yield* call(gateway, "GET", "/api/v1/routing/stats", { token }),
        yield* call(gateway, "DELETE", agent, { token }),
      ]
      for (const { headers, status } of answers) {
        assert.isBelow(status, 300)
        assert.strictEqual(headers.get("cache-control"), "no-store")
      }
    }))
})

describe("a connection to the gateway", () => {
  it.live("is closed after KEEP_ALIVE_TIMEOUT without requests", () =>
    Effect.gen(function* () {
      const gateway = yield* gatewayWith({ KEEP_ALIVE_TIMEOUT: "100ms" })
      const request = "GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
      const connection = yield* openSocket(Number(new URL(gateway.url).port), request)
      // Node closes a second after the announced time, because a request may be on its way.
      const received = yield* Effect.promise(() => connection.ended)
      assert.match(received, /^HTTP\/1\.1 200 /)
      // In whole seconds.
      assert.match(received, /^keep-alive: timeout=0\r$/im)
    }),
  )
})

describe("the gateway's rate limits", () => {
  test(
    "count requests of all users of a tenant by kind",
    (gateway) =>
      Effect.gen(function* () {
        const anna = yield* tokenFor("anna", { tenant: "acme" })
        const alice = yield* tokenFor("alice", { tenant: "acme" })
        const read = (token: string) => call(gateway, "GET", "/api/v1/agents", { token })
        const first = yield* read(anna)
        assert.strictEqual(first.status, 200)
        assert.strictEqual(
          first.headers.get("ratelimit-policy"),
          '"read-per-address";q=2;w=60, "read-per-tenant";q=2;w=60',
        )
        assert.match(
          first.headers.get("ratelimit") ?? "",
          /^"read-per-address";r=1;t=\d+, "read-per-tenant";r=1;t=\d+$/,
        )
        assert.strictEqual((yield* read(alice)).status, 200)
        const third = yield* read(anna)
        assert.strictEqual(third.status, 429)
        assert.deepInclude(checked(third, "/api/v1/agents"), { code: "rate-limited", retryable: true })
        assert.isAtLeast(Number(third.headers.get("retry-after")), 1)
        assert.match(third.headers.get("ratelimit") ?? "", /^"read-per-address";r=0;t=\d+$/)
        // Another class has its own bucket, and probes have none.
        assert.strictEqual((yield* call(gateway, "POST", "/api/v1/agents", { token: anna, body: AGENT })).status, 201)
        assert.strictEqual((yield* call(gateway, "GET", "/health")).status, 200)
      }),
    { RATE_LIMIT_READ: "2", RATE_LIMIT_WRITE: "2" },
  )

  test(
    "count a tenant across addresses, and an address across tenants",
    (gateway) =>
      Effect.gen(function* () {
        const anna = yield* tokenFor("anna", { tenant: "acme" })
        const alice = yield* tokenFor("alice", { tenant: "acme" })
        const other = yield* tokenFor("alice", { tenant: "other" })
        const read = (token: string, address: string) =>
          call(gateway, "GET", "/api/v1/agents", { token, headers: { "x-forwarded-for": address } })
        const began = performance.now()
        assert.strictEqual((yield* read(anna, "192.0.2.1")).status, 200)
        const refused = yield* read(alice, "192.0.2.2")
        const passed = (performance.now() - began) / 1000
        assert.strictEqual(refused.status, 429)
        const wait = Number(refused.headers.get("retry-after"))
        assert.isAtLeast(wait, Math.floor(60 - passed))
        assert.isAtMost(wait, 60)
        assert.match(
          refused.headers.get("ratelimit") ?? "",
          new RegExp(`^"read-per-address";r=0;t=\\d+, "read-per-tenant";r=0;t=${wait}$`),
        )
        assert.include(checked(refused, "/api/v1/agents").detail, "from one tenant")
        assert.strictEqual((yield* read(other, "192.0.2.1")).status, 429)
        assert.strictEqual((yield* read(other, "192.0.2.3")).status, 200)
      }),
    { RATE_LIMIT_READ: "1", TRUSTED_PROXIES: "127.0.0.1" },
  )

  test(
    "do not trust a forged client address",
    (gateway, token) =>
      Effect.gen(function* () {
        const read = (address: string) =>
          call(gateway, "GET", "/api/v1/agents", { token, headers: { "x-forwarded-for": address } })
        assert.strictEqual((yield* read("192.0.2.1")).status, 200)
        assert.strictEqual((yield* read("192.0.2.2")).status, 429)
      }),
    { RATE_LIMIT_READ: "1" },
  )

  it.live("limit waiting requests", () =>
    Effect.gen(function* () {
      const upstream = yield* gatedUpstream
      const gateway = yield* gatewayWith({ MAX_WAITING_PER_TENANT: "1", SHUTDOWN_GRACE: "1" }, upstream.layer)
      const token = yield* tokenFor("alice")
      const { json: agent } = yield* call(gateway, "POST", "/api/v1/agents", { token, body: AGENT })
      const { json: job } = yield* call(gateway, "POST", `/api/v1/agents/${agent["id"]}/execute`, {
        token,
        body: { task: "x" },
      })
      const path = `/api/v1/jobs/${job["id"]}`
      // Two requests wait for one place, so the gateway refuses the second at once.
      const wait = call(gateway, "GET", `${path}?wait=60`, { token })
      const second = yield* Effect.raceFirst(wait, wait)
      assert.deepInclude(checked(second, path), { status: 429, code: "rate-limited", retryable: true })
      assert.strictEqual((yield* call(gateway, "GET", path, { token })).status, 200)
    }),
  )
})

describe("the gateway's traces", () => {
  test("continue the caller's, down to the job and its problems", (gateway, token) =>
    Effect.gen(function* () {
      const traceId = "0af7651916cd43dd8448eb211c80319c"
      const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` }
      const { json: agent } = yield* call(gateway, "POST", "/api/v1/agents", { token, body: AGENT })
      const { json: job } = yield* call(gateway, "POST", `/api/v1/agents/${agent["id"]}/execute`, {
        token,
        headers,
        body: { task: "x" },
      })
      assert.strictEqual(job["trace_id"], traceId)
      const missing = yield* call(gateway, "GET", `/api/v1/jobs/${MISSING}`, { token, headers })
      assert.strictEqual(problemIn(missing).trace_id, traceId)
      const unknown = yield* call(gateway, "GET", "/nothing", { headers })
      assert.strictEqual(problemIn(unknown).trace_id, traceId)
    }))
})

describe("the gateway's health and readiness", () => {
  test("need no token", (gateway, token) =>
    Effect.gen(function* () {
      const health = yield* call(gateway, "GET", "/health")
      assert.deepStrictEqual([health.status, health.json["status"]], [200, "ok"])
      const anybody = yield* call(gateway, "GET", "/ready")
      assert.deepStrictEqual([anybody.status, anybody.json], [200, { status: "ready", providers: "none", mtls: "off" }])
      const ready = yield* callOperator(gateway, "/ready")
      assert.strictEqual(ready.status, 200)
      assert.deepInclude(ready.json, {
        status: "ready",
        draining: false,
        database: { kind: "sqlite", ok: true },
        queue: { depth: 0 },
      })
      yield* call(gateway, "GET", `/api/v1/agents/${MISSING}`, { token })
      const metrics = yield* callOperator(gateway, "/metrics")
      assert.match(metrics.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/)
      assert.match(
        metrics.text,
        /^sealgate_http_requests_total\{method="GET",route="\/api\/v1\/agents\/:id",status="404"\} \d+$/m,
      )
      assert.match(metrics.text, /^sealgate_job_queue_depth 0$/m)
      assert.match(metrics.text, /^sealgate_ready 1$/m)
      assertDeclared(parsePrometheus(metrics.text))
      assert.notInclude(metrics.text, MISSING)
      const docs = yield* call(gateway, "GET", "/docs")
      assert.deepStrictEqual([docs.status, docs.headers.get("content-type")], [200, "text/html; charset=utf-8"])
      const { json: openApi } = yield* call(gateway, "GET", "/openapi.json")
      assert.deepInclude(openApi, { openapi: "3.1.0" })
      assert.include(JSON.stringify(openApi["paths"]), "idempotency-key")
      assert.include(JSON.stringify(openApi), '"bearer":{"type":"http","scheme":"bearer"}')
    }))

  it.live("report degraded while every circuit is open, and requests are accepted", () =>
    Effect.gen(function* () {
      const open = Layer.effect(
        Upstream,
        Effect.map(Upstream, (echo) =>
          Upstream.of({
            ...echo,
            status: Effect.map(echo.status, (all) => all.map((one) => ({ ...one, circuit: "open" as const }))),
          }),
        ),
      ).pipe(Layer.provide(Upstream.layerEcho))
      const gateway = yield* gatewayWith({}, open)
      const ready = yield* callOperator(gateway, "/ready")
      assert.deepStrictEqual([ready.status, ready.json["status"]], [200, "degraded"])
    }),
  )
})
