/** Metrics, probes and the OpenAPI document. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Metric, Schema } from "effect"
import { Readiness } from "../../src/domain/operations/readiness.ts"
import { RedisStatus } from "../../src/services/lifecycle/RedisStatus.ts"
import { ProvidersFileStatus } from "../../src/services/upstream/ProvidersFileStatus.ts"
import { TlsStatus } from "../../src/services/lifecycle/TlsStatus.ts"
import { SLOTS } from "../../src/services/upstream/Slots.ts"
import { fault, FakeUpstream } from "../support/FakeUpstream.ts"
import { gatedUpstream } from "../support/gateway.ts"
import { assertDeclared, parsePrometheus, scrape, valueOf } from "../support/prometheus.ts"
import { failureOf } from "../support/promises.ts"
import { behind, startProxy } from "../support/proxy.ts"
import { beginSession, jsonOf, post, seal } from "../support/sealing.ts"
import { openSocket, postOf } from "../support/sockets.ts"

describe("parsePrometheus", () => {
  for (const [problem, text] of [
    ["a sample without a type", "a 1\n"],
    ["no newline at the end", "# TYPE a counter\na 1"],
    ["the same series twice", `# TYPE a counter\na{x="1",y="2"} 1\na{y="2",x="1"} 1\n`],
    ["a family in two places", "# TYPE a counter\na 1\n# TYPE b counter\nb 1\na 2\n"],
    ["an unescaped quote", `# TYPE a counter\na{x="1"2"} 1\n`],
    ["a bad name", "# TYPE a counter\n1a 1\n"],
    ["a bad value", "# TYPE a counter\na one\n"],
    ["buckets that fall", `# TYPE h histogram\nh_bucket{le="1"} 2\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n`],
    ["buckets without +Inf", `# TYPE h histogram\nh_bucket{le="1"} 2\nh_sum 1\nh_count 2\n`],
    ["a count that is not +Inf", `# TYPE h histogram\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 2\n`],
  ] as const) {
    it(`refuses ${problem}`, () => assert.throws(() => parsePrometheus(text)))
  }

  it("parses valid text", () => {
    const text = `# HELP a b\n# TYPE a counter\na{x="q\\"\\\\\\n"} 1\n# TYPE h histogram\nh_bucket{le="0.5"} 1\nh_bucket{le="+Inf"} 2\nh_sum 1e3\nh_count 2\n`
    assert.strictEqual(valueOf(parsePrometheus(text), "a", { x: 'q"\\\n' }), 1)
  })
})

it.live("/metrics is well-formed, documented, and counts requests and frames", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy({ settings: { sessionMaxRequests: 3 } })
    yield* Effect.promise(async () => {
      const before = await scrape(proxy)
      let events: Promise<string> | undefined
      const client = proxy.client({
        fetch: async (url, init) => {
          const response = await fetch(url, init)
          if (response.headers.get("content-type") === "text/event-stream") events = response.clone().text()
          return response
        },
      })
      await client.complete({ prompt: "hello" })
      await (await client.stream({ prompt: "one two" })).text()
      const framesOfStream = (await events)?.match(/^event: frame$/gm)?.length ?? 0
      assert.isAtLeast(framesOfStream, 2)
      await failureOf(client.complete({ prompt: "hello" }, { provider: "provider4" }))
      const { body } = await seal(await beginSession(proxy), { prompt: "hello" })
      await (await post(proxy, "/v1/completions", body)).text()
      await post(proxy, "/v1/completions", body)
      await post(proxy, "/v1/completions", { ...body, ciphertext: "AAAA", enc: "A".repeat(43) })
      await post(proxy, "/v1/completions", { ...body, session_id: "A".repeat(22) })
      await fetch(`${proxy.url}/no/such/path/${crypto.randomUUID()}`)

      const response = await fetch(`${proxy.operatorUrl}/metrics`)
      assert.strictEqual(response.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8")
      const after = parsePrometheus(await response.text())
      const grown = (name: string, labels: Readonly<Record<string, string>> = {}) =>
        valueOf(after, name, labels) - valueOf(before, name, labels)
      assert.strictEqual(grown("sealgate_sessions_created_total"), 2)
      assert.strictEqual(grown("sealgate_sessions_ended_total", { reason: "spent" }), 1)
      assert.strictEqual(valueOf(after, "sealgate_sessions_live"), 1)
      assert.strictEqual(grown("sealgate_openings_failed_total", { reason: "replayed" }), 1)
      assert.strictEqual(grown("sealgate_openings_failed_total", { reason: "unopenable" }), 1)
      assert.strictEqual(grown("sealgate_openings_failed_total", { reason: "session-gone" }), 1)
      assert.strictEqual(grown("sealgate_sealed_responses_total", { form: "complete", status: "complete" }), 2)
      assert.strictEqual(grown("sealgate_sealed_responses_total", { form: "stream", status: "complete" }), 1)
      assert.strictEqual(grown("sealgate_sealed_responses_total", { form: "complete", status: "failed" }), 1)
      // Three complete answers of two frames, one of them a failure.
      assert.strictEqual(grown("sealgate_frames_sealed_total"), 3 * 2 + framesOfStream)
      const completions = { method: "POST", route: "/v1/completions" }
      assert.strictEqual(grown("sealgate_http_requests_total", { ...completions, status: "200" }), 4)
      assert.strictEqual(grown("sealgate_http_requests_total", { ...completions, status: "409" }), 1)
      assert.strictEqual(grown("sealgate_http_requests_total", { method: "GET", route: "unknown" }), 0)
      assert.strictEqual(grown("sealgate_http_requests_total", { method: "any", route: "unknown", status: "404" }), 1)
      assert.strictEqual(grown("sealgate_http_request_duration_seconds_count", completions), 0)
      assert.isAbove(valueOf(after, "sealgate_process_memory_bytes", { kind: "rss" }), 1_000_000)

      assertDeclared(after)
    })
  }),
)

it.live("/metrics counts a request whose caller went away under the status that was sent", () =>
  Effect.gen(function* () {
    const gated = yield* gatedUpstream
    const proxy = yield* startProxy({ upstream: gated.layer })
    const { body } = yield* Effect.promise(async () => seal(await beginSession(proxy), { prompt: "x" }))
    const connection = yield* openSocket(proxy.port, postOf("/v1/completions", body))
    const statuses = Effect.promise(async () => {
      const samples = (await scrape(proxy)).get("sealgate_http_requests_total")?.samples ?? []
      return samples.flatMap(({ labels }) => (labels["route"] === "/v1/completions" ? [labels["status"]] : []))
    })
    yield* Effect.repeat(Effect.sync(gated.entered), { until: (entered) => entered === 1 })
    connection.socket.destroy()
    const counted = yield* Effect.repeat(statuses, { until: (found) => found.length > 0 })
    assert.deepStrictEqual(counted, ["200"])
  }).pipe(Effect.provideService(Metric.MetricRegistry, new Map())),
)

it.live("/metrics starts the count of refused keys at 0, so the first one is an increase", () =>
  Effect.gen(function* () {
    const fake = yield* FakeUpstream.make()
    const proxy = yield* startProxy({ settings: behind(fake) })
    const errors = (yield* Effect.promise(() => scrape(proxy))).get("sealgate_upstream_errors_total")
    assert.deepStrictEqual(
      errors?.samples
        .filter(({ labels }) => labels["kind"] === "unauthorized")
        .map(({ labels, value }) => [labels, value]),
      [[{ provider: "provider1", kind: "unauthorized" }, 0]],
    )
    // Without the counts of other tests in this process.
  }).pipe(Effect.provideService(Metric.MetricRegistry, new Map())),
)

const decodeReadiness = Schema.decodeUnknownSync(Readiness)

it.live(
  "the operator's /ready is degraded without Redis, and with a certificate or a file of providers that cannot be used",
  () =>
    Effect.gen(function* () {
      const TLS = { mode: "tls", expires_at: null, last_reload_error: null, invalid: null } as const
      for (const [services, status] of [
        [Layer.succeed(RedisStatus, Effect.succeed("up" as const)), "ready"],
        [Layer.succeed(RedisStatus, Effect.succeed("down" as const)), "degraded"],
        [Layer.succeed(TlsStatus, Effect.succeed({ ...TLS, last_reload_error: "wrong" })), "degraded"],
        [Layer.succeed(TlsStatus, Effect.succeed({ ...TLS, invalid: "expired" })), "degraded"],
        [Layer.succeed(ProvidersFileStatus, Effect.succeed({ providers: 1, last_reload_error: "wrong" })), "degraded"],
      ] as const) {
        const proxy = yield* startProxy({ services: Layer.merge(services, Logger.layer([])) })
        const answer = yield* Effect.promise(() => fetch(`${proxy.operatorUrl}/ready`))
        assert.deepStrictEqual([answer.status, (yield* Effect.promise(() => jsonOf(answer)))["status"]], [200, status])
      }
    }),
)

it.live("/health and the operator's /ready report the proxy's state without calling a provider", () =>
  Effect.gen(function* () {
    const fake = yield* FakeUpstream.make()
    const proxy = yield* startProxy({
      settings: { ...behind(fake), provider1Model: "model-1", sessionMaxLive: 7, circuitFailures: 1, retries: 0 },
    })
    const report = async () => {
      const response = await fetch(`${proxy.operatorUrl}/ready`)
      assert.strictEqual(response.headers.get("cache-control"), "no-store")
      return { http: response.status, ...decodeReadiness(await response.json()) }
    }
    yield* Effect.promise(async () => {
      const health = await fetch(`${proxy.url}/health`)
      assert.deepStrictEqual(
        { http: health.status, ...(await jsonOf(health)) },
        { http: 200, status: "ok", software: "sealgate/0.1.0" },
      )

      await beginSession(proxy)
      const fresh = await report()
      assert.deepStrictEqual(fresh, {
        http: 200,
        status: "ready",
        draining: false,
        providers: [
          {
            provider: "provider1",
            configured: true,
            model: "model-1",
            circuit: "closed",
            last_success: null,
            fault: null,
          },
          ...SLOTS.slice(1).map((provider) => ({ provider, configured: false as const })),
        ],
        tls: { mode: "off", expires_at: null, last_reload_error: null, invalid: null },
        redis: "off",
        key_storage: "guarded",
        sessions: { live: 1, max: 7 },
      })
      assert.strictEqual(fake.requests.length, 0)

      fake.always({ text: "ok" })
      const started = Date.now()
      const client = proxy.client()
      await client.complete({ prompt: "hello" })
      const [first] = (await report()).providers
      assert.isAtLeast(first?.configured === true ? Date.parse(first.last_success ?? "") : 0, started)

      // The key is refused until the operator changes it.
      fake.script(fault.unauthorized())
      await failureOf(client.complete({ prompt: "hello" }))
      const refused = await report()
      assert.strictEqual(refused.status, "degraded")
      const [wrong] = refused.providers
      assert.deepInclude(wrong?.configured === true ? wrong.fault : null, {
        model: "model-1",
        outcome: "unauthorized",
        reason: "status 401",
        fix: "check PROVIDER1_API_KEY, and the account that it belongs to",
      })
      await client.complete({ prompt: "hello" })
      assert.strictEqual((await report()).status, "ready")

      // Its only provider fails, which affects every other process as well.
      fake.always(fault.serverError())
      await failureOf(client.complete({ prompt: "hello" }))
      const broken = await report()
      assert.strictEqual(broken.http, 200)
      assert.deepStrictEqual(await jsonOf(await fetch(`${proxy.url}/ready`)), {
        status: "ready",
        providers: "degraded",
        mtls: "off",
      })
      assert.strictEqual(broken.status, "degraded")
      assert.isFalse(broken.draining)
      assert.deepInclude(broken.providers[0], { configured: true, circuit: "open" })
      const metrics = await (await fetch(`${proxy.operatorUrl}/metrics`)).text()
      assert.match(metrics, /^sealgate_ready 1$/m)
    })
  }),
)

/** All operations of the proxy, with their statuses. */
const CONTRACT: Readonly<Record<string, ReadonlyArray<number>>> = {
  "post /v1/evidence": [200, 400, 403, 404, 408, 411, 413, 415, 421, 429, 500, 503],
  "post /v1/init": [200, 400, 403, 408, 411, 413, 415, 421, 429, 500, 503],
  "post /v1/completions": [200, 400, 403, 408, 409, 410, 411, 413, 415, 421, 429, 500, 503],
  "get /v1/keys": [200, 400, 403, 421, 429],
  "get /health": [200, 400, 403, 421, 429],
  "get /ready": [200, 400, 403, 421, 429, 503],
  "get /v1/models": [200, 400, 403, 421, 429],
}

it.live("/openapi.json lists every route, status and problem, and the server", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    yield* Effect.promise(async () => {
      const response = await fetch(`${proxy.url}/openapi.json`)
      assert.match(response.headers.get("content-type") ?? "", /^application\/json/)
      const { info, openapi, paths, servers } = await jsonOf(response)
      assert.deepStrictEqual(servers, [{ url: "/" }])
      assert.match(String(openapi), /^3\.1\./)
      assert.strictEqual(Reflect.get(Object(info), "title"), "sealgate proxy")
      const found: Record<string, ReadonlyArray<number>> = {}
      for (const [path, methods] of Object.entries(Object(paths) as Record<string, Record<string, object>>)) {
        for (const [method, operation] of Object.entries(methods)) {
          const responses = Object(Reflect.get(operation, "responses")) as Record<string, { readonly content?: object }>
          found[`${method} ${path}`] = Object.keys(responses)
            .map(Number)
            .sort((a, b) => a - b)
          for (const [status, { content }] of Object.entries(responses)) {
            assert.isNotEmpty(Object.keys(content ?? {}), `${method} ${path} ${status}`)
          }
          assert.isNotEmpty(String(Reflect.get(operation, "summary")))
        }
      }
      assert.deepStrictEqual(found, CONTRACT)
      const completions: unknown = Reflect.get(Object(paths), "/v1/completions")
      assert.include(JSON.stringify(completions), "Gone: `session-gone`")
      assert.include(JSON.stringify(completions), "Bad Request: `unopenable`, `malformed`")
    })
  }),
)

it.live("HEAD answers like GET, without a body", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    yield* Effect.promise(async () => {
      for (const path of ["/health", "/ready", "/v1/keys", "/v1/models", "/openapi.json", "/docs"]) {
        const head = await fetch(proxy.url + path, { method: "HEAD" })
        const get = await fetch(proxy.url + path)
        assert.strictEqual(head.status, get.status, path)
        assert.strictEqual(head.headers.get("content-type"), get.headers.get("content-type"), path)
        assert.strictEqual(await head.text(), "", path)
      }
    })
  }),
)
