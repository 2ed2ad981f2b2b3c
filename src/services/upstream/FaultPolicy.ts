/**
 * The fault policy: what happens to a request when providers fail. From outside in: failover across targets → circuits of
 * provider and target → bulkhead per provider → retry → time limits of one call. The time limit of the request is kept by
 * whatever waits: for a place, before a retry, for the provider.
 * `failureRules` defines the consequences of each kind of failure, and `TargetFailures` the error that the caller sees
 * in the end.
 */
import { Clock, Duration, Effect, Result, ScopedRef } from "effect"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import type { ApiName } from "../../domain/apis.ts"
import { failureRules } from "../../domain/failures.ts"
import type { ApiRequest, Attempt, UpstreamRequest } from "../../domain/upstream.ts"
import { makeAffinity, type Turn } from "./Affinity.ts"
import { makeAlarms } from "./Alarms.ts"
import { makeAttempts } from "./Attempts.ts"
import { backoff } from "./Backoff.ts"
import { makeBulkhead } from "./Bulkhead.ts"
import type { Call, CallLimits, Progress } from "./Calls.ts"
import { type CircuitPermit, type Circuits, makeCircuits } from "./Circuits.ts"
import { momentOf, OutOfTime, thisMoment } from "./Deadline.ts"
import { brokenOff, errorOf, mayFit, type TargetFailure, targetFailureOf, outOfTime } from "./TargetFailures.ts"
import type { Provider, ProviderFailure } from "./Provider.ts"
import { TargetRegistry } from "./TargetRegistry.ts"
import { apiNameOf, type Target, targetsOf } from "./Targets.ts"
import { logUnserved } from "./unserved.ts"
import { countRequestFailed, countSkip, whileInFlight } from "./UpstreamMetrics.ts"
import type { UpstreamSettings } from "./UpstreamSettings.ts"
import { withCallSpan } from "./UpstreamSpans.ts"
import { statusOf } from "./UpstreamStatus.ts"

/** The state of one request within the policy. */
interface RequestState {
  readonly settings: UpstreamSettings
  readonly attempts: Array<Attempt>
  readonly onAttempt: UpstreamRequest["onAttempt"]
  readonly failures: Array<TargetFailure>
  /** A moment. */
  readonly deadline: number
  /** The target that was called last. */
  called: Target | undefined
  /** What is known of that call. */
  progress: Progress | undefined
}

/**
 * The time limits of a call. A target's own limit takes precedence over its provider's, and that over the common one. A
 * longer limit for the first output also prolongs that for a whole answer.
 */
const limitsOf = (
  { firstTokenMs, provider }: Target,
  { deadline, settings: { timeouts } }: Pick<RequestState, "deadline" | "settings">,
): CallLimits => {
  const own = firstTokenMs ?? (provider.firstToken && Duration.toMillis(provider.firstToken))
  const answer = Duration.toMillis(timeouts.answer)
  return {
    answer: own === undefined ? answer : Math.max(answer, own),
    firstToken: own ?? Duration.toMillis(timeouts.firstToken),
    idle: Duration.toMillis(timeouts.idle),
    deadline,
  }
}

export const makeFaultPolicy = Effect.fnUntraced(function* (
  providers: ReadonlyArray<Provider>,
  initial: UpstreamSettings,
) {
  const book = new TargetRegistry(providers)
  const attempts = yield* makeAttempts(book)
  const alarms = yield* makeAlarms
  const affinity = makeAffinity()
  const bulkheads = new Map(
    yield* Effect.forEach(providers, (provider) =>
      Effect.map(makeBulkhead(initial.bulkhead), (bulkhead) => [provider, bulkhead] as const),
    ),
  )
  const store = yield* CircuitBreaker.CircuitBreakerStore
  const prepare = (settings: UpstreamSettings) =>
    makeCircuits(settings.circuit, book).pipe(
      Effect.map((circuits) => ({ settings, circuits })),
      Effect.provideService(CircuitBreaker.CircuitBreakerStore, store),
    )
  const current = yield* ScopedRef.fromAcquire(prepare(initial))

  /** One call to one target. */
  const attempt = <A>(
    state: RequestState,
    target: Target,
    call: Call<A>,
    { working }: CircuitPermit,
  ): Effect.Effect<A, ProviderFailure | OutOfTime> =>
    Effect.flatMap(Clock.Clock, (clock): Effect.Effect<A, ProviderFailure | OutOfTime> => {
      if (momentOf(clock) >= state.deadline) return new OutOfTime()
      const startedAt = clock.currentTimeMillisUnsafe()
      const cause: Attempt["cause"] =
        state.called === target ? "retry" : state.failures.length > 0 ? "failover" : "first"
      state.called = target
      const progress: Progress = { firstOutputAt: undefined, served: () => undefined, working }
      state.progress = progress
      return whileInFlight(target.provider.id, call.once(target, progress, limitsOf(target, state), alarms), (exit) =>
        attempts.settle({ target, cause, startedAt, progress, exit }, (attempt) => {
          state.attempts.push(attempt)
          state.onAttempt?.(attempt)
        }),
      ).pipe(withCallSpan(target.provider, book.label(target.provider.id, target.model), cause))
    })

  /** Whether a target is tried again after a failure. A probe is tried once, so that its result is known soon. */
  const again = (
    state: RequestState,
    call: Call<unknown>,
    permit: CircuitPermit,
    { kind, retryAfterMs }: ProviderFailure,
  ) => {
    if (!failureRules[kind].retry || !call.mayGoOn() || permit.isProbe()) return Effect.succeed(false)
    if (retryAfterMs === undefined) return Effect.succeed(true)
    if (retryAfterMs > Duration.toMillis(state.settings.retry.maxRetryAfter)) return Effect.succeed(false)
    return Effect.map(thisMoment, (now) => now + retryAfterMs < state.deadline)
  }

  /** Calls a target, and again as often as its failures allow. */
  const persist = Effect.fnUntraced(function* <A>(
    state: RequestState,
    target: Target,
    call: Call<A>,
    permit: CircuitPermit,
  ) {
    const { retry } = state.settings
    for (let retries = 0; ; retries++) {
      const result = yield* Effect.result(attempt(state, target, call, permit))
      if (Result.isSuccess(result)) return result.success
      const { failure } = result
      if (failure._tag === "OutOfTime" || retries === retry.times) return yield* failure
      if (!(yield* again(state, call, permit, failure))) return yield* failure
      const [delay, now] = [yield* backoff(retry, retries, failure), yield* thisMoment]
      yield* Effect.sleep(Math.min(delay, state.deadline - now))
    }
  })

  const tryTargets = Effect.fnUntraced(function* <A>(
    state: RequestState,
    turn: Turn,
    call: Call<A>,
    api: ApiName,
    circuits: Circuits,
  ) {
    for (const target of turn.targets) {
      if (!mayFit(target, state.failures)) continue
      const bulkhead = yield* Effect.orDie(Effect.fromNullishOr(bulkheads.get(target.provider)))
      const guarded = circuits.guard(book.called(target, api), api, (permit) =>
        bulkhead.enter(persist(state, target, call, permit), state.deadline),
      )
      const served = yield* Effect.result(guarded)
      if (Result.isSuccess(served)) {
        yield* turn.answered(target, state.progress?.served())
        return { value: served.success, attempts: state.attempts }
      }
      if (served.failure._tag === "OutOfTime") return yield* outOfTime(state.called, state.attempts)
      const failed = targetFailureOf(target, served.failure)
      state.failures.push(call.mayGoOn() ? failed : brokenOff(failed))
      if (failed.skipped !== undefined) yield* countSkip(target.provider.id, failed.skipped)
      if (state.failures.at(-1)?.failover === false) break
    }
    return yield* errorOf(state.failures, state.attempts)
  })

  /** Serves a request with `call`, or says why no target did. */
  const serve = Effect.fnUntraced(
    function* <A>(request: UpstreamRequest | ApiRequest, call: Call<A>) {
      const targets = yield* targetsOf(providers, request)
      if (request.targets !== undefined) for (const target of targets) book.configure(target)
      const turn = yield* affinity.turn(request, targets)
      const { circuits, settings } = yield* ScopedRef.get(current)
      const state: RequestState = {
        settings,
        attempts: [],
        onAttempt: request.onAttempt,
        failures: [],
        deadline: (yield* thisMoment) + Duration.toMillis(settings.timeouts.total),
        called: undefined,
        progress: undefined,
      }
      return yield* Effect.tapError(tryTargets(state, turn, call, apiNameOf(request), circuits), (error) =>
        logUnserved(error, state.failures, book),
      )
    },
    Effect.tapError((error) => countRequestFailed(error.code)),
  )

  const status = Effect.flatMap(ScopedRef.get(current), ({ circuits }) =>
    Effect.forEach(providers, (provider) => statusOf(provider, circuits, book)),
  )

  const configure = Effect.fnUntraced(function* (settings: UpstreamSettings) {
    yield* ScopedRef.set(current, prepare(settings))
    yield* Effect.forEach(bulkheads.values(), (bulkhead) => bulkhead.resize(settings.bulkhead))
  })

  return { serve, status, configure, attempts: attempts.ended }
})
