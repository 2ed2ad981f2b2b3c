/** A circuit per target, so that a target that is down is left alone until it works again. */
import { Cause, Context, Deferred, Duration, Effect, Exit, Option, Schedule, type Scope, Stream } from "effect"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import type { ProviderId } from "../../domain/upstream.ts"
import { measure } from "../lifecycle/Measurements.ts"
import type { BulkheadFull } from "./Bulkhead.ts"
import { failureRules } from "./FailureRules.ts"
import type { ProviderFailure } from "./Provider.ts"
import type { CalledTarget, TargetBook } from "./TargetBook.ts"
import { showCircuit } from "./UpstreamMetrics.ts"
import type { UpstreamSettings } from "./UpstreamSettings.ts"

export type CircuitState = "closed" | "half-open" | "open"

/** From best to worst. */
const STATES: ReadonlyArray<CircuitState> = ["closed", "half-open", "open"]

export interface Circuits {
  /**
   * Runs a call through the circuit with this key, which sees one outcome of it, whatever retries are inside. A call may
   * say that the target is `working` before it ends: if it is the probe, the circuit closes then, because an answer can
   * take minutes, and as long as its reader likes.
   */
  readonly guard: <A, R>(
    key: string,
    call: (working: () => void) => Effect.Effect<A, ProviderFailure | BulkheadFull, R>,
  ) => Effect.Effect<A, ProviderFailure | BulkheadFull | CircuitBreaker.CircuitBreakerError, R>
  readonly stateOf: (target: CalledTarget) => Effect.Effect<CircuitState>
  /** The best state of any target of a provider: it is open only when nothing of it can be called. */
  readonly bestOf: (provider: ProviderId) => Effect.Effect<CircuitState>
}

/**
 * Only failures that say that the target is unwell count. A refused request, or a caller that goes away, says nothing
 * about it; such a probe frees its slot for the next one.
 */
const outcomeOf = (exit: Exit.Exit<unknown, ProviderFailure | BulkheadFull>): CircuitBreaker.Outcome => {
  if (Exit.isSuccess(exit)) return CircuitBreaker.success
  const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  if (error === undefined || error._tag === "BulkheadFull") return CircuitBreaker.ignored
  if (!failureRules[error.kind].unwell) return CircuitBreaker.ignored
  return CircuitBreaker.failure({ retryAfter: error.retryAfterMs })
}

/** Done once the call that asks for admission has shown that its target works; absent outside of a call. */
const Working = Context.Reference<Deferred.Deferred<void> | undefined>("sealgate/services/upstream/Circuits/Working", {
  defaultValue: () => undefined,
})

type Store = CircuitBreaker.CircuitBreakerStore["Service"]

/**
 * `store`, to which a probe reports its success as soon as its target works. What the breaker reports when the probe
 * ends has the same generation, so the store ignores it then.
 */
const withEarlySuccess = (
  store: Store,
  tripPolicy: CircuitBreaker.TripPolicy,
  onTransition: (transition: CircuitBreaker.Transition) => Effect.Effect<void>,
): Store => {
  const succeed = (key: string, generation: number) =>
    store.record({ key, generation, outcome: "Success", tripPolicy, openFor: Duration.zero }).pipe(
      Effect.flatMap((transition) => (transition === undefined ? Effect.void : onTransition(transition))),
      // A store that failed is told again at the end of the call.
      Effect.ignore,
    )
  return {
    ...store,
    admit: Effect.fnUntraced(function* (key) {
      const admission = yield* store.admit(key)
      const working = yield* Working
      if (admission.probe && working !== undefined) {
        // The breaker closes this scope with the call. A report that has begun is finished, so that it is logged.
        yield* Effect.interruptible(Deferred.await(working)).pipe(
          Effect.andThen(succeed(key, admission.generation)),
          Effect.uninterruptible,
          Effect.forkScoped,
        )
      }
      return admission
    }),
  }
}

const openings = ({ factor, maxOpen, open }: UpstreamSettings["circuit"]) =>
  Schedule.exponential(open, factor).pipe(
    Schedule.modifyDelay(({ duration }) => Effect.succeed(Duration.min(duration, maxOpen))),
    Schedule.jittered,
  )

export const makeCircuits = Effect.fnUntraced(function* (
  settings: UpstreamSettings["circuit"],
  book: TargetBook,
): Effect.fn.Return<Circuits, never, CircuitBreaker.CircuitBreakerStore | Scope.Scope> {
  const tripPolicy = CircuitBreaker.consecutive(settings.failures)
  const store = withEarlySuccess(yield* CircuitBreaker.CircuitBreakerStore, tripPolicy, (transition) =>
    onTransition(transition),
  )
  const breaker = yield* CircuitBreaker.make({
    tripPolicy,
    openDuration: openings(settings),
    maxOpenDuration: settings.maxOpen,
  }).pipe(Effect.provideService(CircuitBreaker.CircuitBreakerStore, store))

  const stateOf = (target: CalledTarget): Effect.Effect<CircuitState> =>
    breaker.state(target.key).pipe(
      Effect.map((state): CircuitState => {
        if (state._tag === "Closed") return "closed"
        // A circuit whose time is over lets the next call through as its probe.
        return state._tag === "HalfOpen" || Duration.isZero(state.retryAfter) ? "half-open" : "open"
      }),
      // Where the store cannot be reached, calls run as if every circuit were closed.
      Effect.orElseSucceed(() => "closed" as const),
    )

  const bestOf = (provider: ProviderId): Effect.Effect<CircuitState> =>
    Effect.map(Effect.forEach(book.of(provider), stateOf), (states) =>
      states.length === 0 ? "closed" : (STATES.find((state) => states.includes(state)) ?? "closed"),
    )

  const show = (provider: ProviderId) => Effect.flatMap(bestOf(provider), (state) => showCircuit(provider, state))
  // A circuit's time runs out without a transition, so its state is looked up whenever somebody wants to see it.
  const showAll = Effect.forEach(book.providers, show, { discard: true })
  yield* showAll
  yield* measure(showAll)
  const onTransition = Effect.fnUntraced(function* (transition: CircuitBreaker.Transition) {
    const target = book.byKey(transition.key)
    if (target === undefined) return
    const { label: model, provider } = target
    yield* show(provider)
    yield* transition.to === "Open"
      ? Effect.logWarning("Circuit opened").pipe(
          Effect.annotateLogs({ provider, model, openForMs: Duration.toMillis(transition.retryAfter) }),
        )
      : Effect.logInfo(transition.to === "Closed" ? "Circuit closed" : "Circuit probed").pipe(
          Effect.annotateLogs({ provider, model }),
        )
  })
  yield* breaker.transitions.pipe(Stream.runForEach(onTransition), Effect.forkScoped({ startImmediately: true }))

  return {
    guard: (key, call) =>
      Effect.suspend(() => {
        const working = Deferred.makeUnsafe<void>()
        const guarded = call(() => Deferred.doneUnsafe(working, Effect.void))
        return breaker.execute(guarded, { key, classify: outcomeOf }).pipe(Effect.provideService(Working, working))
      }),
    stateOf,
    bestOf,
  }
})
