import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Fiber, Layer } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { TestClock } from "effect/testing"
import { settableClock } from "../../support/settableClock.ts"
import { layerCircuitsInMemory, MAX_CIRCUITS, withLocalFallback } from "../../../src/services/upstream/CircuitStore.ts"

const FAILURES = 3
const OPEN = Duration.minutes(1)

const makeBreaker = CircuitBreaker.make({ tripPolicy: CircuitBreaker.consecutive(FAILURES), openDuration: OPEN })

const setUp = Effect.map(makeBreaker, (breaker) => ({
  breaker,
  fail: (key: string, times = 1) =>
    Effect.repeat(Effect.ignore(breaker.execute(Effect.fail("down"), { key })), { times: times - 1 }),
  succeed: (key: string) => breaker.execute(Effect.void, { key }),
  stateOf: (key: string) => Effect.map(breaker.state(key), ({ _tag }) => _tag),
}))

const names = (count: number) => Array.from({ length: count }, (_, index) => `name-${index}`)

const withMemory = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  effect.pipe(Effect.scoped, Effect.provide(layerCircuitsInMemory))

describe("circuits in memory", () => {
  it.effect("drop the least recently used closed one if there are too many", () =>
    Effect.gen(function* () {
      const { fail, stateOf, succeed } = yield* setUp
      yield* fail("forgotten")
      yield* fail("kept")
      yield* Effect.forEach(names(MAX_CIRCUITS - 2), succeed)
      yield* fail("kept")
      yield* succeed("one more")
      yield* fail("forgotten", FAILURES - 1)
      yield* fail("kept")
      assert.deepStrictEqual(yield* Effect.forEach(["forgotten", "kept"], stateOf), ["Closed", "Open"])
    }).pipe(withMemory),
  )

  it.effect("keep an open one, however many others come", () =>
    Effect.gen(function* () {
      const { fail, stateOf, succeed } = yield* setUp
      yield* fail("down", FAILURES)
      yield* Effect.forEach(names(2 * MAX_CIRCUITS), succeed)
      assert.strictEqual(yield* stateOf("down"), "Open")
    }).pipe(withMemory),
  )

  it.effect("drop one whose open time is over, because it blocks no call", () =>
    Effect.gen(function* () {
      const { fail, stateOf, succeed } = yield* setUp
      yield* fail("down", FAILURES)
      yield* TestClock.adjust(OPEN)
      yield* Effect.forEach(names(MAX_CIRCUITS), succeed)
      assert.strictEqual(yield* stateOf("down"), "Closed")
    }).pipe(withMemory),
  )

  it.effect.each(["-1 day", "1 day"] as const)("stay open for their time although the clock is set by %s", (by) =>
    Effect.gen(function* () {
      const { clock, set } = yield* settableClock
      yield* Effect.gen(function* () {
        const { fail, stateOf, succeed } = yield* setUp
        yield* fail("down", FAILURES)
        set.forward = Duration.toMillis(by)
        yield* TestClock.adjust(Duration.subtract(OPEN, Duration.millis(1)))
        yield* Effect.flip(succeed("down"))
        assert.strictEqual(yield* stateOf("down"), "Open")
        yield* TestClock.adjust(Duration.millis(1))
        yield* succeed("down")
        assert.strictEqual(yield* stateOf("down"), "Closed")
      }).pipe(withMemory, Effect.provideService(Clock.Clock, clock))
    }),
  )

  it.effect("keep one that is being probed", () =>
    Effect.gen(function* () {
      const { breaker, fail, stateOf, succeed } = yield* setUp
      yield* fail("down", FAILURES)
      yield* TestClock.adjust(OPEN)
      const probe = yield* Effect.forkChild(breaker.execute(Effect.never, { key: "down" }), { startImmediately: true })
      yield* Effect.forEach(names(MAX_CIRCUITS), succeed)
      assert.strictEqual(yield* stateOf("down"), "HalfOpen")
      yield* Fiber.interrupt(probe)
      yield* Effect.forEach(names(2 * MAX_CIRCUITS), succeed)
      assert.strictEqual(yield* stateOf("down"), "Closed")
    }).pipe(withMemory),
  )

  it.effect("stay bounded if all of them are open", () =>
    Effect.gen(function* () {
      const { fail, stateOf } = yield* setUp
      const all = names(MAX_CIRCUITS + 10)
      yield* Effect.forEach(all, (name) => fail(name, FAILURES))
      const states = yield* Effect.forEach(all, stateOf)
      assert.strictEqual(states.filter((state) => state === "Open").length, MAX_CIRCUITS)
      assert.strictEqual(states.at(-1), "Open")
    }).pipe(withMemory),
  )
})

/** A store that remembers which keys it was asked for, and may be out of reach. */
const layerShared = (asked: Set<string>, reachable: () => boolean) =>
  Layer.effect(
    CircuitBreaker.CircuitBreakerStore,
    Effect.map(CircuitBreaker.CircuitBreakerStore, (store) => {
      const reach = <A, R>(key: string, effect: Effect.Effect<A, CircuitBreaker.CircuitBreakerError, R>) =>
        Effect.suspend(() => {
          asked.add(key)
          return reachable() ? effect : Effect.fail(GONE)
        })
      return CircuitBreaker.CircuitBreakerStore.of({
        admit: (key) => reach(key, store.admit(key)),
        record: (outcome) => reach(outcome.key, store.record(outcome)),
        state: (key) => reach(key, store.state(key)),
      })
    }),
  ).pipe(Layer.provide(CircuitBreaker.layerStoreMemory()))

const GONE = new CircuitBreaker.CircuitBreakerError({
  reason: new CircuitBreaker.CircuitBreakerStoreError({ message: "gone" }),
})

describe("shared circuits", () => {
  it.effect("fall back to memory while their store is unreachable", () => {
    let reachable = false
    return Effect.gen(function* () {
      const { fail, stateOf } = yield* setUp
      yield* fail("provider1/known", FAILURES)
      assert.strictEqual(yield* stateOf("provider1/known"), "Open")
      reachable = true
      assert.strictEqual(yield* stateOf("provider1/known"), "Closed")
      yield* fail("provider1/known", FAILURES - 1)
      assert.strictEqual(yield* stateOf("provider1/known"), "Closed")
      yield* fail("provider1/known")
      assert.strictEqual(yield* stateOf("provider1/known"), "Open")
    }).pipe(Effect.scoped, Effect.provide(withLocalFallback(layerShared(new Set(), () => reachable))))
  })

  it.effect("are not kept for targets that a caller may have invented", () => {
    const asked = new Set<string>()
    return Effect.gen(function* () {
      const { fail, stateOf } = yield* setUp
      for (const key of ["provider1", "provider1/known", "provider1/?hash", "provider1/?hash#pace"]) {
        yield* fail(key, FAILURES)
        assert.strictEqual(yield* stateOf(key), "Open")
      }
      assert.deepStrictEqual([...asked], ["provider1", "provider1/known"])
    }).pipe(Effect.scoped, Effect.provide(withLocalFallback(layerShared(asked, () => true))))
  })
})
