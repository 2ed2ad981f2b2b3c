import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer, Option, Stream } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { OtlpSerialization, OtlpTracer } from "effect/observability"
import { fault } from "../../support/FakeUpstream.ts"
import { MAX_RESPONSE_HEADER_BYTES } from "../../../src/services/upstream/ProviderHttp.ts"
import { ask } from "./ScriptedProvider.ts"
import { openAi, wired } from "./WiredUpstream.ts"
import { streamOf } from "../../support/streamed.ts"

/** Spans that go somewhere, as far as anybody can tell. */
const layerTraced = OtlpTracer.layer({ url: "http://localhost", resource: { serviceName: "test" } }).pipe(
  Layer.provide(OtlpSerialization.layerJson),
  Layer.provide(
    Layer.succeed(
      HttpClient.HttpClient,
      HttpClient.make((request) => Effect.succeed(HttpClientResponse.fromWeb(request, new Response()))),
    ),
  ),
)

describe("HTTP to providers", () => {
  it.live("sends the trace context, under the span of the call", () =>
    Effect.gen(function* () {
      const { target, upstream } = yield* wired(openAi)
      const caller = yield* Effect.gen(function* () {
        yield* Stream.runDrain(streamOf(upstream, ask()))
        return yield* Effect.currentSpan
      }).pipe(Effect.withSpan("caller"), Effect.provide(layerTraced))
      const [version, trace, span, flags] = target.requests[0]?.headers["traceparent"]?.split("-") ?? []
      assert.deepStrictEqual([version, trace, flags], ["00", caller.traceId, "01"])
      assert.notStrictEqual(span, caller.spanId)
      assert.deepStrictEqual(caller.parent, Option.none())
    }),
  )

  it.live("reuses a connection after a response that ended well", () =>
    Effect.gen(function* () {
      const { target, upstream } = yield* wired(openAi)
      const requests = 10
      for (let i = 0; i < requests; i++) {
        yield* i % 2 === 0 ? upstream.complete(ask()) : Stream.runDrain(streamOf(upstream, ask()))
        // A connection is free some turns of the event loop after the answer on it is complete.
        for (let turn = 0; turn < 10; turn++) {
          yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
        }
      }
      const connections = new Set(target.requests.map(({ connection }) => connection)).size
      assert.isBelow(connections, requests / 2)
    }),
  )

  it.live("reads response headers of 36 kB", () =>
    Effect.gen(function* () {
      const { target, upstream } = yield* wired(openAi, { alone: true })
      target.always({ text: "ok", headers: { "x-large": "x".repeat(36_000) } })
      yield* upstream.complete(ask())
    }),
  )

  it.live("fails a call above its header limit without a retry", () =>
    Effect.gen(function* () {
      const { target, upstream } = yield* wired(openAi, { alone: true })
      target.always(fault.status(200, { headers: { "x-large": "x".repeat(MAX_RESPONSE_HEADER_BYTES) } }))
      assert.strictEqual((yield* Effect.flip(upstream.complete(ask()))).code, "upstream-protocol")
      assert.strictEqual(target.requests.length, 1)
    }),
  )

  it.live("serves concurrent streams over separate connections", () =>
    Effect.gen(function* () {
      const streams = 50
      const { target, upstream } = yield* wired(openAi, { bulkhead: { calls: streams, waiting: 0 } })
      target.always({ text: "a b c d e f", delivery: { gap: 20 } })
      yield* Effect.all(
        Array.from({ length: streams }, () => Stream.runDrain(streamOf(upstream, ask()))),
        { concurrency: "unbounded" },
      ).pipe(Effect.timeout(Duration.seconds(10)))
      assert.strictEqual(new Set(target.requests.map(({ connection }) => connection)).size, streams)
    }),
  )
})
