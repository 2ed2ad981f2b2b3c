/** State that several processes share through a real Redis; skipped with a message without one. */
import { connect } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Deferred, Duration, Effect, Fiber, Layer, Redacted, Schedule, Stream } from "effect"
import { layerCircuitStore, layerRateLimits } from "../../../src/server/redis/SharedState.ts"
import { RateLimits } from "../../../src/services/access/RateLimits.ts"
import { Upstream } from "../../../src/services/upstream/Upstream.ts"
import { ask, fails, hang, says, scripted, settingsWith, text } from "../../services/upstream/ScriptedProvider.ts"
import { settableClock } from "../../support/settableClock.ts"
import { streamOf } from "../../support/streamed.ts"

const URL = process.env["TEST_REDIS_URL"] ?? "redis://127.0.0.1:6379"

const reachable = await new Promise<boolean>((resolve) => {
  const { hostname, port } = new globalThis.URL(URL)
  const socket = connect({ host: hostname, port: Number(port || 6379) })
  socket.once("connect", () => resolve(true)).once("error", () => resolve(false))
  socket.unref()
})
if (!reachable) console.warn(`skipped: no Redis at ${URL}, so nothing shared was tested`)

const redis = Redacted.make(URL)
const unique = (name: string) => `${name}-${process.pid}-${performance.now()}`

describe.runIf(reachable)("with Redis", () => {
  it.live("a streamed probe admits calls of every process before its answer ends", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1", unique("model"))
      // An opening of no length, so that the next call is the probe without a wait.
      const settings = settingsWith({ circuit: { failures: 1, open: Duration.zero }, retry: { times: 0 } })
      const process = Effect.map(
        Layer.build(Layer.provide(Upstream.layerNoDeps({ providers: [provider], settings }), layerCircuitStore(redis))),
        (services) => Context.get(services, Upstream),
      )
      const [one, other] = [yield* process, yield* process]
      const begun = yield* Deferred.make<void>()
      const shown = (upstream: Upstream["Service"]) => Effect.map(upstream.status, ([status]) => status?.circuit)
      provider.script([fails("unavailable")], [text("a"), hang])
      yield* Effect.flip(one.complete(ask()))
      assert.strictEqual(yield* shown(one), "half-open")
      const reader = yield* Effect.forkChild(
        Stream.runForEach(streamOf(one, ask()), () => Deferred.succeed(begun, undefined)),
      )
      yield* Deferred.await(begun)
      // The word that the target works is on its way to Redis when the reader has the output.
      yield* Effect.repeat(shown(one), { until: (circuit) => circuit === "closed" })
      provider.always(says("served"))
      assert.strictEqual((yield* other.complete(ask())).served.provider, "provider1")
      assert.strictEqual(yield* shown(other), "closed")
      assert.isUndefined(provider.calls[1]?.ended)
      yield* Fiber.interrupt(reader)
    }),
  )

  for (const [name, forward] of [
    ["ahead", 600_000],
    ["behind", -600_000],
  ] as const) {
    it.live(`a process whose clock is ${name} changes no rate limit of another`, () =>
      Effect.gen(function* () {
        const { clock, set } = yield* settableClock
        set.forward = forward
        const key = unique("caller")
        const take = (limit: number) => RateLimits.use((limits) => limits.take(key, limit))
        const elsewhere = (limit: number) => Effect.provideService(take(limit), Clock.Clock, clock)
        assert.strictEqual((yield* elsewhere(3)).remaining, 2)
        assert.strictEqual((yield* take(3)).remaining, 1)
        assert.strictEqual((yield* elsewhere(3)).remaining, 0)
        assert.isAtMost((yield* Effect.flip(take(3))).retryAfterMs, 20_000)
        // A limit that refills every millisecond.
        const refilled = Effect.retry(take(60_000), { schedule: Schedule.spaced("5 millis"), times: 100 })
        assert.isAtLeast((yield* refilled).remaining, 0)
      }).pipe(Effect.provide(layerRateLimits(redis))),
    )
  }
})
