/** Stores circuits: in bounded memory, or in a shared store while that works. */
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { momentOf } from "../moments.ts"
import { isUnknownTarget } from "./TargetRegistry.ts"

type Store = CircuitBreaker.CircuitBreakerStore["Service"]

/** The number of circuits that a process remembers. */
export const MAX_CIRCUITS = 2048

/** How many of the least recently used circuits are examined to find one that can be forgotten. */
const LOOKED_AT = 64

/** Whether callers would not notice that a circuit is forgotten: it is closed, or its next call is its probe. */
const letsThrough = (state: CircuitBreaker.State): boolean => {
  switch (state._tag) {
    case "Closed":
      return true
    case "HalfOpen":
      return !state.probing
    case "Open":
      return Duration.isZero(state.retryAfter)
  }
}

/** A clock whose time of day is the monotonic time, in whole milliseconds. */
const monotonic = (clock: Clock.Clock): Clock.Clock => {
  const currentTimeMillisUnsafe = () => Math.floor(momentOf(clock))
  const currentTimeNanosUnsafe = () => clock.monotonicTimeNanosUnsafe()
  return {
    currentTimeMillisUnsafe,
    currentTimeMillis: Effect.sync(currentTimeMillisUnsafe),
    currentTimeNanosUnsafe,
    currentTimeNanos: Effect.sync(currentTimeNanosUnsafe),
    monotonicTimeNanosUnsafe: currentTimeNanosUnsafe,
    monotonicTimeNanos: clock.monotonicTimeNanos,
    sleep: (duration) => clock.sleep(duration),
  }
}

/** Replaces the library's clock, which is the time of day: setting it would prolong or shorten open times. */
const newCircuit = (clock: Clock.Clock): Effect.Effect<Store> => {
  const measured = Effect.provideService(Clock.Clock, clock)
  return Effect.map(Effect.scoped(Layer.build(CircuitBreaker.layerStoreMemory())), (services) => {
    const store = Context.get(services, CircuitBreaker.CircuitBreakerStore)
    return {
      admit: (key) => measured(store.admit(key)),
      record: (outcome) => measured(store.record(outcome)),
      state: (key) => measured(store.state(key)),
    }
  })
}

/**
 * Keeps circuits in memory. The library's store forgets a key after an hour without use, and callers who invent model
 * names could fill the memory until then. Here each key has its own store, which can be dropped. If there are too many,
 * the least recently used circuit that blocks no calls goes, or the oldest if all block.
 */
export const layerCircuitsInMemory: Layer.Layer<CircuitBreaker.CircuitBreakerStore> = Layer.effect(
  CircuitBreaker.CircuitBreakerStore,
  Effect.clockWith((clock) => {
    const time = monotonic(clock)
    // In the order of last use.
    const circuits = new Map<string, Store>()

    const forgetOne = Effect.fnUntraced(function* () {
      const candidates = [...circuits.keys().take(LOOKED_AT)]
      for (const key of candidates) {
        const circuit = circuits.get(key)
        if (circuit !== undefined && letsThrough(yield* circuit.state(key))) return void circuits.delete(key)
      }
      if (candidates[0] !== undefined) circuits.delete(candidates[0])
    })

    const begin = Effect.fnUntraced(function* (key: string) {
      const circuit = yield* newCircuit(time)
      if (circuits.size >= MAX_CIRCUITS) yield* forgetOne()
      circuits.set(key, circuit)
      return yield* circuit.admit(key)
    })

    const store = CircuitBreaker.CircuitBreakerStore.of({
      admit: (key) =>
        Effect.suspend(() => {
          const circuit = circuits.get(key)
          if (circuit === undefined) return begin(key)
          circuits.delete(key)
          circuits.set(key, circuit)
          return circuit.admit(key)
        }),
      record: (outcome) => circuits.get(outcome.key)?.record(outcome) ?? Effect.undefined,
      state: (key) => circuits.get(key)?.state(key) ?? Effect.succeed({ _tag: "Closed", key }),
    })
    return Effect.succeed(store)
  }),
)

/** Generations below zero mark calls that the local store admitted, because no store issues negative ones. */
const toLocal = (generation: number): number => -1 - generation
const isLocal = (generation: number): boolean => generation < 0

/**
 * Uses the `shared` store, and memory for each call for which it fails. State is not copied between them: within a few
 * calls it is learned again. Circuits of unknown targets are always in memory, where their number is bounded.
 */
export const withLocalFallback = <E, R>(shared: Layer.Layer<CircuitBreaker.CircuitBreakerStore, E, R>) =>
  Layer.effect(
    CircuitBreaker.CircuitBreakerStore,
    Effect.gen(function* () {
      const store = Context.get(yield* Layer.build(shared), CircuitBreaker.CircuitBreakerStore)
      const local = Context.get(yield* Layer.build(layerCircuitsInMemory), CircuitBreaker.CircuitBreakerStore)
      const admitLocally = (key: string) =>
        Effect.map(local.admit(key), (admission) => ({ ...admission, generation: toLocal(admission.generation) }))
      return CircuitBreaker.CircuitBreakerStore.of({
        admit: (key) =>
          isUnknownTarget(key)
            ? admitLocally(key)
            : Effect.catchReason(store.admit(key), "CircuitBreakerError", "CircuitBreakerStoreError", () =>
                admitLocally(key),
              ),
        record: (outcome) =>
          isLocal(outcome.generation)
            ? local.record({ ...outcome, generation: toLocal(outcome.generation) })
            : // The call is over and answered. A store that failed meanwhile loses the circuit's state anyway.
              Effect.catchReason(
                store.record(outcome),
                "CircuitBreakerError",
                "CircuitBreakerStoreError",
                () => Effect.undefined,
              ),
        state: (key) =>
          isUnknownTarget(key)
            ? local.state(key)
            : Effect.catchReason(store.state(key), "CircuitBreakerError", "CircuitBreakerStoreError", () =>
                local.state(key),
              ),
      })
    }),
  )
