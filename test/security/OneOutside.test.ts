/** What can be seen from outside of an opened request is the same whatever becomes of it. */
import { setImmediate } from "node:timers/promises"
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { utf8 } from "../../src/domain/bytes/bytes.ts"
import { FLOOR, pad } from "../../src/domain/protocol/padding.ts"
import { joinContent } from "../../src/domain/protocol/sealedContent.ts"
import { UpstreamError } from "../../src/domain/upstream/upstream.ts"
import { Upstream } from "../../src/services/upstream/Upstream.ts"
import { startProxy } from "../support/proxy.ts"
import { beginSession, post, seal, sealBlock } from "../support/sealing.ts"

/** What a statement in the clear says: all but when, of which exchange, and the hash over its frames. */
const claimsOf = (statement: string): string => {
  const [, claims = ""] = statement.split(".")
  const { iat, request_hash, root, ...said } = JSON.parse(Buffer.from(claims, "base64url").toString()) as Claims
  return JSON.stringify([said, typeof iat, typeof request_hash, typeof root])
}

type Claims = Readonly<Record<string, unknown>>

/** What an onlooker sees: status, headers but the time of day, and how long the body is. */
const seen = async (response: Response) => {
  const headers = [...response.headers].filter(([name]) => name !== "date")
  const body = (await response.text())
    .replace(/"proof":"([^"]*)"/, (_, proof: string) => claimsOf(proof))
    .replace(/"[\w-]{32,}"/g, (value) => String(value.length))
  return JSON.stringify([response.status, headers, body])
}

/** Fails in the ways of providers, by what the prompt says. */
const upstream = Layer.effect(
  Upstream,
  Effect.map(Effect.service(Upstream), (echo) =>
    Upstream.of({
      ...echo,
      request: (request) => {
        const said = request.body.text
        if (said.includes("filtered")) return Effect.fail(new UpstreamError({ code: "content-filtered" }))
        if (said.includes("slow")) {
          return Effect.fail(new UpstreamError({ code: "upstream-timeout", retryAfterMs: 1000 }))
        }
        if (said.includes("broken")) return Effect.die(new Error("broken"))
        return echo.request(request)
      },
      requestStream: (request) =>
        request.body.text.includes("slow")
          ? Stream.fail(new UpstreamError({ code: "upstream-timeout" }))
          : echo.requestStream(request),
    }),
  ),
).pipe(Layer.provide(Upstream.layerEcho))

it.effect("complete answers, failures of providers, faults and requests that are none look alike", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy({ upstream, settings: { rateLimitCompletions: 1000 } })
    yield* Effect.promise(async () => {
      const session = await beginSession(proxy)
      const outsides = new Set<string>()
      for (const prompt of ["hello", "two words", "filtered", "slow", "broken"]) {
        outsides.add(await seen(await post(proxy, "/v1/completions", (await seal(session, { prompt })).body)))
      }
      for (const payload of ["{}", "no JSON", '{"a":1,"a":2}']) {
        const body = await sealBlock(session, pad(joinContent("Bearer x", utf8(payload)), FLOOR))
        outsides.add(await seen(await post(proxy, "/v1/completions", body)))
      }
      assert.lengthOf([...outsides], 1, [...outsides].join("\n"))
      assert.match([...outsides][0] ?? "", /^\[200,.*no-store, no-transform.*nosniff/)
      assert.notMatch([...outsides][0] ?? "", /ratelimit|retry-after|trace/i)
    })
  }),
)

it.effect("so do paced streams of an answer and of a failure", () =>
  Effect.gen(function* () {
    let ended = Deferred.makeUnsafe<void>()
    const telling = Layer.effect(
      Upstream,
      Effect.map(Effect.service(Upstream), (failing) =>
        Upstream.of({
          ...failing,
          requestStream: (request) =>
            Stream.ensuring(failing.requestStream(request), Deferred.succeed(ended, undefined)),
        }),
      ),
    ).pipe(Layer.provide(upstream))
    const proxy = yield* startProxy({ upstream: telling })
    const session = yield* Effect.promise(() => beginSession(proxy))
    // All that the provider says is known before the first tick.
    const paced = Effect.fnUntraced(function* (prompt: string) {
      ended = Deferred.makeUnsafe()
      const { body } = yield* Effect.promise(() => seal(session, { prompt, stream: true }, { pace: 20 }))
      const answer = yield* Effect.forkChild(
        Effect.promise(async () => seen(await post(proxy, "/v1/completions", body))),
      )
      yield* Deferred.await(ended)
      const tick = Effect.andThen(
        TestClock.adjust("20 millis"),
        Effect.promise(() => setImmediate()),
      )
      const ticking = yield* Effect.forkChild(Effect.forever(tick))
      const outside = yield* Fiber.join(answer)
      yield* Fiber.interrupt(ticking)
      return outside
    })
    const [answer, failure] = [yield* paced("hello"), yield* paced("slow")]
    assert.strictEqual(answer, failure)
    assert.include(answer, "x-accel-buffering")
  }),
)
