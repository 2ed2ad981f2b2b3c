/**
 * The fault policy: handles a request when providers fail. From outside in: failover across targets → circuits of
 * provider and target → bulkhead per provider → retry → time limits of one call. Each wait (for a place, before a
 * retry, for the provider) keeps the time limit of the request. `failureRules` defines the consequences of each kind of
 * failure, and `TargetFailures` the error that the caller gets.
 */
import { Context, Duration, Effect, ScopedRef, Tracer } from "effect"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import type { ApiName } from "../../domain/upstream/apis.ts"
import { failureRules } from "../../domain/upstream/failures.ts"
import type { ApiRequest, Attempt, UpstreamError, UpstreamRequest } from "../../domain/upstream/upstream.ts"
import { makeAffinity, type Turn } from "./Affinity.ts"
import { makeAlarms } from "./Alarms.ts"
import { logFailure, record } from "./Attempts.ts"
import { backoff } from "./Backoff.ts"
import { makeBulkhead } from "./Bulkhead.ts"
import type { Call, CallLimits, Progress } from "./Calls.ts"
import { type CircuitPermit, type Circuits, makeCircuits } from "./Circuits.ts"
import { OutOfTime } from "./Deadline.ts"
import { makeFaults } from "./Faults.ts"
import { type FirstTokenLimits, makeFirstTokenLimits } from "./FirstTokenLimits.ts"
import { brokenOff, errorOf, mayFit, type TargetFailure, targetFailureOf, outOfTime } from "./TargetFailures.ts"
import type { Provider, ProviderFailure } from "./Provider.ts"
import { TargetRegistry } from "./TargetRegistry.ts"
import { apiNameOf, type Target, targetsOf } from "./Targets.ts"
import { logUnserved } from "./unserved.ts"
import { countAttempt, countRequestFailed, countSkip, whileInFlight } from "./UpstreamMetrics.ts"
import type { UpstreamSettings } from "./UpstreamSettings.ts"
import { annotateCall, withCallSpan } from "./UpstreamSpans.ts"
import { statusOf } from "./UpstreamStatus.ts"

/** The result of a request, and every call that was made for it. */
interface ServedBy<A> {
  readonly value: A
  readonly attempts: ReadonlyArray<Attempt>
}

/** Whether a target was called for a request and did not serve it. */
const hasFailed =
  ({ failures }: Pick<RequestState, "failures">) =>
  ({ provider }: Target): boolean =>
    failures.some((failed) => failed.provider === provider.id && failed.skipped === undefined)

/** The state of one request within the policy. */
interface RequestState {
  readonly settings: UpstreamSettings
  readonly attempts: Array<Attempt>
  readonly onAttempt: UpstreamRequest["onAttempt"]
  readonly failures: Array<TargetFailure>
  readonly firstToken: FirstTokenLimits
  /** A moment. */
  readonly deadline: number
  /** The target that was called last. */
  called: Target | undefined
  /** The state of that call. */
  progress: Progress | undefined
}

/**
 * The time limits of a call. A target's limit takes precedence over its provider's, and that over the common one, which
 * is the maximum for learned limits. The last target always gets the maximum, because none can take over. A longer
 * limit for the first output also extends the limit for a whole answer.
 */
const limitsOf = (
  target: Target,
  { deadline, firstToken, settings: { timeouts } }: Pick<RequestState, "deadline" | "firstToken" | "settings">,
  isLast: boolean,
): CallLimits => {
  const { firstTokenMs, provider } = target
  const own = firstTokenMs ?? (provider.firstToken && Duration.toMillis(provider.firstToken))
  const answer = Duration.toMillis(timeouts.answer)
  const most = Duration.toMillis(timeouts.firstToken)
  return {
    answer: own === undefined ? answer : Math.max(answer, own),
    firstToken: own ?? (isLast ? most : firstToken.limit(target, most)),
    thinking: own ?? most,
    idle: Duration.toMillis(timeouts.idle),
    deadline,
  }
}

export const makeFaultPolicy = Effect.fnUntraced(function* (
  providers: ReadonlyArray<Provider>,
  initial: UpstreamSettings,
) {
  const book = new TargetRegistry(providers)
  const alarms = yield* makeAlarms
  const affinity = makeAffinity()
  const faults = makeFaults()
  const firstTokenOf = makeFirstTokenLimits()
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

  /** Makes one call to one target. */
  const attempt = <A>(
    state: RequestState,
    target: Target,
    call: Call<A>,
    { working }: CircuitPermit,
    isLast: boolean,
  ) =>
    Effect.contextWith((context: Context.Context<never>): Effect.Effect<A, ProviderFailure | OutOfTime> => {
      if (alarms.now() >= state.deadline) return new OutOfTime()
      const startedAt = alarms.clock.currentTimeMillisUnsafe()
      const cause: Attempt["cause"] =
        state.called === target ? "retry" : state.failures.length > 0 ? "failover" : "first"
      state.called = target
      const progress: Progress = { firstOutputAt: undefined, served: () => undefined, working }
      state.progress = progress
      const model = book.label(target.provider.id, target.model)
      return withCallSpan(Context.get(context, Tracer.Tracer), target.provider, model, cause, (span) =>
        whileInFlight(
          target.provider.id,
          context,
          Effect.suspend(() => call.once(target, progress, limitsOf(target, state, isLast), alarms)),
          (exit) => {
            const finishedAt = alarms.clock.currentTimeMillisUnsafe()
            const recorded = record(book, { target, cause, startedAt, progress, exit }, finishedAt)
            state.attempts.push(recorded.attempt)
            state.onAttempt?.(recorded.attempt)
            state.firstToken.ended(recorded.attempt)
            countAttempt(recorded.attempt, recorded.model, context)
            if (span !== undefined) annotateCall(span, recorded)
            if (recorded.failure !== undefined) return logFailure(faults, target, recorded, recorded.failure)
            if (recorded.attempt.outcome === "success") faults.succeeded(target.provider.id, model)
            return Effect.void
          },
        ),
      )
    })

  /** Whether to retry a target after a failure. A probe is tried once, so that its result is known soon. */
  const again = (
    state: RequestState,
    call: Call<unknown>,
    permit: CircuitPermit,
    { kind, retryAfterMs }: ProviderFailure,
  ) => {
    if (!failureRules[kind].retry || !call.mayGoOn() || permit.isProbe()) return Effect.succeed(false)
    if (retryAfterMs === undefined) return Effect.succeed(true)
    if (retryAfterMs > Duration.toMillis(state.settings.retry.maxRetryAfter)) return Effect.succeed(false)
    return Effect.succeed(alarms.now() + retryAfterMs < state.deadline)
  }

  /** Calls a target and retries it as often as its failures allow. `retries` counts the retries so far. */
  const persist = <A>(
    state: RequestState,
    target: Target,
    call: Call<A>,
    permit: CircuitPermit,
    isLast: boolean,
    retries = 0,
  ): Effect.Effect<A, ProviderFailure | OutOfTime> =>
    Effect.catch(
      attempt(state, target, call, permit, isLast),
      Effect.fnUntraced(function* (failure) {
        const { retry } = state.settings
        if (failure._tag === "OutOfTime" || retries === retry.times) return yield* failure
        if (!(yield* again(state, call, permit, failure))) return yield* failure
        const delay = yield* backoff(retry, retries, failure)
        yield* Effect.sleep(Math.min(delay, state.deadline - alarms.now()))
        return yield* persist(state, target, call, permit, isLast, retries + 1)
      }),
    )

  /** Tries the targets in order, beginning with index `at`. */
  const tryTargets = <A>(
    state: RequestState,
    turn: Turn,
    call: Call<A>,
    api: ApiName,
    circuits: Circuits,
    at = 0,
  ): Effect.Effect<ServedBy<A>, UpstreamError> => {
    const target = turn.targets[at]
    if (target === undefined) return errorOf(state.failures, state.attempts)
    if (!mayFit(target, state.failures)) return tryTargets(state, turn, call, api, circuits, at + 1)
    const bulkhead = bulkheads.get(target.provider)
    if (bulkhead === undefined) return Effect.die(new Error(`no bulkhead for ${target.provider.id}`))
    const guarded = circuits.guard(book.called(target, api), api, (permit) =>
      bulkhead.enter(persist(state, target, call, permit, at + 1 >= turn.targets.length), state.deadline),
    )
    return Effect.matchEffect(guarded, {
      onSuccess: (value) =>
        Effect.as(turn.answered(target, state.progress?.served(), hasFailed(state)), {
          value,
          attempts: state.attempts,
        }),
      onFailure: Effect.fnUntraced(function* (failure): Effect.fn.Return<ServedBy<A>, UpstreamError> {
        if (failure._tag === "OutOfTime") return yield* outOfTime(state.called, state.attempts)
        const failed = targetFailureOf(target, failure)
        state.failures.push(call.mayGoOn() ? failed : brokenOff(failed))
        if (failed.skipped !== undefined) yield* countSkip(target.provider.id, failed.skipped)
        const isLast = state.failures.at(-1)?.failover === false
        return yield* tryTargets(state, turn, call, api, circuits, isLast ? turn.targets.length : at + 1)
      }),
    })
  }

  /** Serves a request with `call`, or fails with the reason why no target did. */
  const serve = <A>(request: UpstreamRequest | ApiRequest, call: Call<A>): Effect.Effect<ServedBy<A>, UpstreamError> =>
    Effect.flatMap(targetsOf(providers, request), (targets) => {
      if (request.targets !== undefined) for (const target of targets) book.configure(target)
      return Effect.flatMap(affinity.turn(request, targets), (turn) => {
        const { circuits, settings } = ScopedRef.getUnsafe(current)
        const state: RequestState = {
          settings,
          attempts: [],
          onAttempt: request.onAttempt,
          failures: [],
          firstToken: firstTokenOf(request),
          deadline: alarms.now() + Duration.toMillis(settings.timeouts.total),
          called: undefined,
          progress: undefined,
        }
        return Effect.tapError(tryTargets(state, turn, call, apiNameOf(request), circuits), (error) =>
          logUnserved(error, state.failures, book),
        )
      })
    }).pipe(Effect.tapError((error) => countRequestFailed(error.code)))

  const status = Effect.flatMap(ScopedRef.get(current), ({ circuits }) =>
    Effect.forEach(providers, (provider) => statusOf(provider, circuits, book, faults)),
  )

  const configure = Effect.fnUntraced(function* (settings: UpstreamSettings) {
    yield* ScopedRef.set(current, prepare(settings))
    yield* Effect.forEach(bulkheads.values(), (bulkhead) => bulkhead.resize(settings.bulkhead))
  })

  return { serve, status, configure }
})
