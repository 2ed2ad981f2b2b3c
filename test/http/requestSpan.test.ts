/** The span of a request, as exported. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { withRequestSpan } from "../../src/http/shared/requestSpan.ts"
import { UNKNOWN_ROUTE } from "../../src/http/shared/RouteTable.ts"
import { layerDiscreetTracer } from "../../src/server/telemetry/DiscreetTracer.ts"
import { layerTelemetry } from "../../src/server/telemetry/Telemetry.ts"
import { otlpCollector } from "../support/otlpCollector.ts"
import { testSettings } from "../support/proxy.ts"

const routeOf = (url: string): string => (new URL(url).pathname.startsWith("/things/") ? "/things/:id" : UNKNOWN_ROUTE)

/** The only span of a request to `url` that `app` handles. */
const spanOf = Effect.fnUntraced(function* (
  url: string,
  app: Effect.Effect<HttpServerResponse.HttpServerResponse>,
  headers: Readonly<Record<string, string>> = {},
) {
  const collector = yield* otlpCollector
  const settings = { ...(yield* testSettings), otlpEndpoint: new URL(collector.url) }
  const request = HttpServerRequest.fromWeb(new Request(url, { headers: { host: new URL(url).host, ...headers } }))
  yield* withRequestSpan(true)(request, routeOf(url), app).pipe(
    Effect.forkChild,
    Effect.flatMap(Fiber.await),
    Effect.provide(
      layerDiscreetTracer.pipe(Layer.provideMerge(layerTelemetry(settings)), Layer.provide(Logger.layer([]))),
    ),
  )
  const [span, ...others] = collector.spans
  assert.deepStrictEqual(others, [])
  return span
})

const answer = (status: number) => Effect.succeed(HttpServerResponse.empty({ status }))

describe("the span of a request", () => {
  it.effect("has the request and the response status, but no query", () =>
    Effect.gen(function* () {
      const span = yield* spanOf("http://[::1]:8080/things/7?secret=1", answer(204), { "user-agent": "test" })
      assert.deepInclude(span, { name: "GET /things/:id", kind: "server", status: "ok" })
      assert.deepStrictEqual(span?.attributes, {
        "http.request.method": "GET",
        "http.route": "/things/:id",
        "url.path": "/things/7",
        "url.scheme": "http",
        "server.address": "::1",
        "server.port": 8080,
        "user_agent.original": "test",
        "http.response.status_code": 204,
      })
    }),
  )

  it.effect("has no unknown path, and does not fail with 404", () =>
    Effect.gen(function* () {
      const span = yield* spanOf("https://sealgate.example/nothing", answer(404))
      assert.deepInclude(span, { name: "GET unknown", status: "ok" })
      assert.deepStrictEqual(span?.attributes, {
        "http.request.method": "GET",
        "url.scheme": "https",
        "server.address": "sealgate.example",
        "server.port": 443,
        "http.response.status_code": 404,
      })
    }),
  )

  it.effect("fails with status 5xx", () =>
    Effect.gen(function* () {
      const span = yield* spanOf("http://sealgate.example/things/7", answer(503))
      assert.strictEqual(span?.status, "error")
      assert.strictEqual(span?.attributes["http.response.status_code"], 503)
    }),
  )

  it.effect("ends when the caller goes away", () =>
    Effect.gen(function* () {
      const span = yield* spanOf("http://sealgate.example/things/7", Effect.interrupt)
      assert.notProperty(span?.attributes, "http.response.status_code")
      assert.strictEqual(span?.attributes["effect.fiber.interrupted"], true)
    }),
  )
})
