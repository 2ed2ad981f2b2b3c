/** Circuit breakers: what fails is not called until it works again. {@link Suspect} says what has a circuit. */
import { Cause, Context, Deferred, Duration, Effect, Exit, Option, Schedule, type Scope, Stream } from "effect"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import { failureRules, type Suspect } from "../../domain/failures.ts"
import type { ProviderId } from "../../domain/upstream.ts"
import { measure } from "../lifecycle/MeasuredGauges.ts"
import type { BulkheadFull } from "./Bulkhead.ts"
import type { ProviderFailure } from "./Provider.ts"
import type { CalledTarget, KnownTarget, TargetRegistry } from "./TargetRegistry.ts"
import { showCircuit } from "./UpstreamMetrics.ts"
import type { UpstreamSettings } from "./UpstreamSettings.ts"

export type CircuitState = "closed" | "half-open" | "open"

/** From best to worst. */
const STATES: ReadonlyArray<CircuitState> = ["closed", "half-open", "open"]
const best = (states: ReadonlyArray<CircuitState>): CircuitState =>
  STATES.find((state) => states.includes(state)) ?? "closed"
const worst = (states: ReadonlyArray<CircuitState>): CircuitState =>
  STATES.findLast((state) => states.includes(state)) ?? "closed"

/** What is known of a provider without calling it. */
export interface ProviderCircuits {
  /** It is open only when nothing of the provider can be called. */
  readonly state: CircuitState
  /** The targets that were called so far, each with the worst circuit that a call of it passes. */
  readonly targets: ReadonlyArray<readonly [KnownTarget, CircuitState]>
}

/** A call's admission through its circuits. */
export interface CircuitPermit {
  /**
   * To be called when the target shows that it works. If the call is a probe, its circuit closes then, rather than at
   * the end of the call: an answer can take minutes, and as long as its reader likes.
   */
  readonly working: () => void
  /** Whether the call is a probe whose target has not yet shown that it works. */
  readonly isProbe: () => boolean
}

type Failure = ProviderFailure | BulkheadFull | CircuitBreaker.CircuitBreakerError

export interface Circuits {
  /**
   * Runs a call through the circuits of its target. They count one outcome for it, however many retries it contains.
   */
  readonly guard: <A, R>(
    target: CalledTarget,
    call: (permit: CircuitPermit) => Effect.Effect<A, Failure, R>,
  ) => Effect.Effect<A, Failure, R>
  readonly statesOf: (provider: ProviderId) => Effect.Effect<ProviderCircuits>
}

/** From the outermost to the innermost circuit, with the key of each. */
const SUSPECTS: Readonly<Record<Suspect, (target: CalledTarget) => string>> = {
  provider: ({ provider }) => provider,
  target: ({ key }) => key,
  pace: ({ key }) => `${key}${PACE}`,
}
const PACE = "#pace"

/**
 * What an exit says about a suspect. A request that was refused, or whose caller left, says nothing; if it was a probe,
 * its slot is free for the next one.
 */
const outcomeFor =
  (suspect: Suspect) =>
  (exit: Exit.Exit<unknown, Failure>): CircuitBreaker.Outcome => {
    if (Exit.isSuccess(exit)) return CircuitBreaker.success
    const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
    if (error?._tag !== "ProviderFailure") return CircuitBreaker.ignored
    const { against, heard } = failureRules[error.kind]
    if (against === suspect) return CircuitBreaker.failure({ retryAfter: error.retryAfterMs })
    return suspect === "provider" && heard ? CircuitBreaker.success : CircuitBreaker.ignored
  }

/** What the circuits of one call share. */
interface Passing {
  readonly worked: Deferred.Deferred<void>
  probes: boolean
}

/** The call that asks for admission; absent outside of one. */
const CurrentPassing = Context.Reference<Passing | undefined>("sealgate/services/upstream/Circuits/CurrentPassing", {
  defaultValue: () => undefined,
})

type Store = CircuitBreaker.CircuitBreakerStore["Service"]

/**
 * `store`, to which a probe reports success as soon as its target works. The breaker's own report at the end of the
 * probe has the same generation, so the store ignores it.
 */
const withEarlySuccess = (
  store: Store,
  tripPolicy: CircuitBreaker.TripPolicy,
  onTransition: (transition: CircuitBreaker.Transition) => Effect.Effect<void>,
): Store => {
  const succeed = (key: string, generation: number) =>
    store.record({ key, generation, outcome: "Success", tripPolicy, openFor: Duration.zero }).pipe(
      Effect.flatMap((transition) => (transition === undefined ? Effect.void : onTransition(transition))),
      // If the store failed, the end of the call reports it again.
      Effect.ignore,
    )
  return {
    ...store,
    admit: Effect.fnUntraced(function* (key) {
      const admission = yield* store.admit(key)
      const passing = yield* CurrentPassing
      if (admission.probe && passing !== undefined) {
        passing.probes = true
        // The breaker closes this scope with the call. A report that has begun is completed, so that it is logged.
        yield* Effect.interruptible(Deferred.await(passing.worked)).pipe(
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
  book: TargetRegistry,
): Effect.fn.Return<Circuits, never, CircuitBreaker.CircuitBreakerStore | Scope.Scope> {
  const store = yield* CircuitBreaker.CircuitBreakerStore

  const makeBreaker = Effect.fnUntraced(function* (failures: number) {
    const tripPolicy = CircuitBreaker.consecutive(failures)
    const breaker = yield* CircuitBreaker.make({
      tripPolicy,
      openDuration: openings(settings),
      maxOpenDuration: settings.maxOpen,
    }).pipe(
      Effect.provideService(
        CircuitBreaker.CircuitBreakerStore,
        withEarlySuccess(store, tripPolicy, (transition) => onTransition(transition)),
      ),
    )
    yield* breaker.transitions.pipe(Stream.runForEach(onTransition), Effect.forkScoped({ startImmediately: true }))
    return breaker
  })

  const stateAt = (key: string): Effect.Effect<CircuitState> =>
    store.state(key).pipe(
      Effect.map((state): CircuitState => {
        if (state._tag === "Closed") return "closed"
        // A circuit whose open time has passed lets the next call through as its probe.
        return state._tag === "HalfOpen" || Duration.isZero(state.retryAfter) ? "half-open" : "open"
      }),
      // While the store cannot be reached, calls run as if every circuit were closed.
      Effect.orElseSucceed(() => "closed" as const),
    )

  const statesOf = Effect.fnUntraced(function* (provider: ProviderId) {
    const called = book.of(provider)
    const [own, ...states] = yield* Effect.forEach(
      [provider, ...called.flatMap((target) => [SUSPECTS.target(target), SUSPECTS.pace(target)])],
      stateAt,
      { concurrency: "unbounded" },
    )
    const connection = own ?? "closed"
    const targets = called.map(
      (target, index) => [target, worst([connection, ...states.slice(2 * index, 2 * index + 2)])] as const,
    )
    const circuits: ProviderCircuits = {
      state: targets.length === 0 ? connection : best(targets.map(([, state]) => state)),
      targets,
    }
    return circuits
  })

  const show = (provider: ProviderId) => Effect.flatMap(statesOf(provider), ({ state }) => showCircuit(provider, state))
  // A circuit's open time ends without an event, so its state is read whenever the metrics are.
  const showAll = Effect.forEach(book.providers, show, { discard: true })
  yield* showAll
  yield* measure(showAll)
  const onTransition = Effect.fnUntraced(function* (transition: CircuitBreaker.Transition) {
    const provider = book.providers.find((id) => transition.key === id || transition.key.startsWith(`${id}/`))
    if (provider === undefined) return
    const name = transition.key.slice(provider.length + 1)
    const suspect: Suspect = name === "" ? "provider" : name.endsWith(PACE) ? "pace" : "target"
    const about = {
      provider,
      ...(name === "" ? {} : { model: book.label(provider, name.replace(PACE, "")) }),
      suspect,
    }
    yield* show(provider)
    yield* transition.to === "Open"
      ? Effect.logWarning("Circuit opened").pipe(
          Effect.annotateLogs({ ...about, openForMs: Duration.toMillis(transition.retryAfter) }),
        )
      : Effect.logInfo(transition.to === "Closed" ? "Circuit closed" : "Circuit probed").pipe(
          Effect.annotateLogs(about),
        )
  })

  const onFailures = yield* makeBreaker(settings.failures)
  const breakers = { provider: onFailures, target: onFailures, pace: yield* makeBreaker(settings.slow) }

  return {
    guard: <A, R>(target: CalledTarget, call: (permit: CircuitPermit) => Effect.Effect<A, Failure, R>) =>
      Effect.suspend(() => {
        const passing: Passing = { worked: Deferred.makeUnsafe<void>(), probes: false }
        const guardedBy = (suspect: Suspect) => (inner: Effect.Effect<A, Failure, R>) =>
          breakers[suspect].execute(inner, { key: SUSPECTS[suspect](target), classify: outcomeFor(suspect) })
        return call({
          working: () => void Deferred.doneUnsafe(passing.worked, Effect.void),
          isProbe: () => passing.probes && !Deferred.isDoneUnsafe(passing.worked),
        }).pipe(
          guardedBy("pace"),
          guardedBy("target"),
          guardedBy("provider"),
          Effect.provideService(CurrentPassing, passing),
        )
      }),
    statesOf,
  }
})
