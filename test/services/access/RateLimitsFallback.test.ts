/** Limits while their shared store fails. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { RateLimiter } from "effect/persistence"
import { RateLimits } from "../../../src/services/access/RateLimits.ts"

const broken = Effect.fail(
  new RateLimiter.RateLimiterError({ reason: new RateLimiter.RateLimitStoreError({ message: "gone" }) }),
)

/** A store that works as long as one says so. */
const switched = () => {
  const store = { works: true, asked: 0 }
  const layer = Layer.effect(
    RateLimiter.RateLimiterStore,
    Effect.map(RateLimiter.RateLimiterStore, (memory) =>
      RateLimiter.RateLimiterStore.of({
        ...memory,
        tokenBucket: (options) =>
          Effect.suspend(() => {
            store.asked += 1
            return store.works ? memory.tokenBucket(options) : broken
          }),
      }),
    ),
  ).pipe(Layer.provide(RateLimiter.layerStoreMemory))
  return { store, layer: RateLimits.layerShared.pipe(Layer.provide(layer)) }
}

const take = Effect.flatMap(RateLimits, (limits) => limits.take("caller", 3))

it.effect("limits of one process do not use the store", () => {
  const { layer, store } = switched()
  return Effect.gen(function* () {
    const limits = yield* RateLimits
    const takeHere = limits.takeHere("caller", 2)
    for (const works of [true, false]) {
      store.works = works
      assert.deepInclude(yield* takeHere, { limit: 2, remaining: works ? 1 : 0 })
    }
    assert.strictEqual((yield* Effect.flip(takeHere))._tag, "RateLimited")
    assert.strictEqual(store.asked, 0)
    // Nor does it take from what is shared.
    store.works = true
    assert.deepInclude(yield* take, { remaining: 2 })
  }).pipe(Effect.provide(layer))
})

it.effect("while the store fails, the process counts in its own buckets", () => {
  const { layer, store } = switched()
  return Effect.gen(function* () {
    assert.deepInclude(yield* take, { limit: 3, remaining: 2 })
    store.works = false
    const local = yield* Effect.all([take, take, take])
    assert.deepStrictEqual(
      local.map(({ remaining }) => remaining),
      [2, 1, 0],
    )
    assert.deepInclude(yield* Effect.flip(take), { _tag: "RateLimited", limit: 3, retryAfterMs: 20_000 })
    assert.strictEqual(store.asked, 5)
    store.works = true
    assert.deepInclude(yield* take, { remaining: 1 })
    assert.deepInclude(yield* take, { remaining: 0 })
    assert.strictEqual((yield* Effect.flip(take))._tag, "RateLimited")
  }).pipe(Effect.provide(layer))
})
