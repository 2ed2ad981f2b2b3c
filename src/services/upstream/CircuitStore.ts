/** Circuits that are shared as long as their store works, and kept by this process alone while it does not. */
import { Context, Effect, Layer } from "effect"
import { CircuitBreaker } from "effect/persistence"

/** A call that the local store admitted is told apart by its generation, which no store makes negative. */
const toLocal = (generation: number): number => -1 - generation
const isLocal = (generation: number): boolean => generation < 0

/**
 * The store of `shared`, with one in memory that stands in for it call by call while it fails. What a circuit learned
 * in one of them is not carried over to the other: it is learned again within a few calls.
 */
export const withLocalFallback = <E, R>(shared: Layer.Layer<CircuitBreaker.CircuitBreakerStore, E, R>) =>
  Layer.effect(
    CircuitBreaker.CircuitBreakerStore,
    Effect.gen(function* () {
      const store = Context.get(yield* Layer.build(shared), CircuitBreaker.CircuitBreakerStore)
      const local = Context.get(
        yield* Layer.build(CircuitBreaker.layerStoreMemory()),
        CircuitBreaker.CircuitBreakerStore,
      )
      const admitLocally = (key: string) =>
        Effect.map(local.admit(key), (admission) => ({ ...admission, generation: toLocal(admission.generation) }))
      return CircuitBreaker.CircuitBreakerStore.of({
        admit: (key) =>
          Effect.catchReason(store.admit(key), "CircuitBreakerError", "CircuitBreakerStoreError", () =>
            admitLocally(key),
          ),
        record: (outcome) =>
          isLocal(outcome.generation)
            ? local.record({ ...outcome, generation: toLocal(outcome.generation) })
            : // The call is over and its caller has its answer; a store that went meanwhile forgets the circuit anyway.
              Effect.catchReason(
                store.record(outcome),
                "CircuitBreakerError",
                "CircuitBreakerStoreError",
                () => Effect.undefined,
              ),
        state: (key) =>
          Effect.catchReason(store.state(key), "CircuitBreakerError", "CircuitBreakerStoreError", () =>
            local.state(key),
          ),
      })
    }),
  )
