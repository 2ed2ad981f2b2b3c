/**
 * The fault policy: what happens to a request when providers fail. From outside in: the time limit of the request →
 * failover across targets → circuits of provider and target → bulkhead per provider → retry → time limits of one call.
 * `failureRules` defines the consequences of each kind of failure, and `TargetFailures` the error that the caller sees
 * in the end.
 */
import { Clock, Duration, Effect, Option, Result, ScopedRef } from "effect"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import { failureRules } from "../../domain/failures.ts"
import type { Attempt, UpstreamRequest } from "../../domain/upstream.ts"
import { makeAffinity, type Turn } from "./Affinity.ts"
import { makeAttempts } from "./Attempts.ts"
import { makeBackoff } from "./Backoff.ts"
import { makeBulkhead } from "./Bulkhead.ts"
import type { Call, Progress } from "./Calls.ts"
import { makeCircuits, type CircuitPermit } from "./Circuits.ts"
import { brokenOff, errorOf, mayFit, type TargetFailure, targetFailureOf, outOfTime } from "./TargetFailures.ts"
import type { Provider, ProviderFailure } from "./Provider.ts"
import { TargetRegistry } from "./TargetRegistry.ts"
import { type Target, targetsOf } from "./Targets.ts"
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
  /** In milliseconds since the epoch. */
  readonly deadline: number
  /** Whether the time limit has passed, so that a call that it cuts off does not count as abandoned by the caller. */
  expired: boolean
  /** The target that was called last. */
  called: Target | undefined
}

/**
 * The time limits of a call. A target's own limit takes precedence over its provider's, and that over the common one. A
 * longer limit for the first output also prolongs that for a whole answer.
 */
const timeoutsOf = (
  { firstTokenMs, provider }: Target,
  { timeouts }: UpstreamSettings,
): UpstreamSettings["timeouts"] => {
  const own = firstTokenMs === undefined ? provider.firstToken : Duration.millis(firstTokenMs)
  return own === undefined ? timeouts : { ...timeouts, firstToken: own, answer: Duration.max(timeouts.answer, own) }
}

export const makeFaultPolicy = Effect.fnUntraced(function* (
  providers: ReadonlyArray<Provider>,
  initial: UpstreamSettings,
) {
  const book = new TargetRegistry(providers)
  const attempts = yield* makeAttempts(book)
  const affinity = makeAffinity()
  const bulkheads = new Map(
    yield* Effect.forEach(providers, (provider) =>
      Effect.map(makeBulkhead(initial.bulkhead), (bulkhead) => [provider, bulkhead] as const),
    ),
  )
  const store = yield* CircuitBreaker.CircuitBreakerStore
  const prepare = (settings: UpstreamSettings) =>
    makeCircuits(settings.circuit, book).pipe(
      Effect.map((circuits) => ({ settings, circuits, backoff: makeBackoff(settings.retry) })),
      Effect.provideService(CircuitBreaker.CircuitBreakerStore, store),
    )
  const current = yield* ScopedRef.fromAcquire(prepare(initial))

  /** One call to one target. */
  const attempt = <A>(
    state: RequestState,
    target: Target,
    call: Call<A>,
    { working }: CircuitPermit,
  ): Effect.Effect<A, ProviderFailure> =>
    Effect.flatMap(Clock.currentTimeMillis, (startedAt) => {
      const cause: Attempt["cause"] =
        state.called === target ? "retry" : state.failures.length > 0 ? "failover" : "first"
      state.called = target
      const progress: Progress = { firstOutputAt: undefined, served: () => undefined, working }
      return whileInFlight(target.provider.id, call.once(target, progress, timeoutsOf(target, state.settings))).pipe(
        Effect.onExit((exit) => {
          const ended = { target, cause, startedAt, progress, exit, expired: state.expired }
          return attempts.settle(ended, (attempt) => {
            state.attempts.push(attempt)
            state.onAttempt?.(attempt)
          })
        }),
        withCallSpan(target.provider, book.label(target.provider.id, target.model), cause),
      )
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
    return Effect.map(Clock.currentTimeMillis, (now) => now + retryAfterMs < state.deadline)
  }

  const tryTargets = Effect.fnUntraced(function* <A>(
    state: RequestState,
    turn: Turn,
    call: Call<A>,
    { backoff, circuits }: Effect.Success<ReturnType<typeof prepare>>,
  ) {
    for (const target of turn.targets) {
      if (!mayFit(target, state.failures)) continue
      const bulkhead = yield* Effect.orDie(Effect.fromNullishOr(bulkheads.get(target.provider)))
      const guarded = circuits.guard(book.called(target), (permit) =>
        attempt(state, target, call, permit).pipe(
          Effect.retry({
            schedule: backoff,
            times: state.settings.retry.times,
            while: (failure) => again(state, call, permit, failure),
          }),
          bulkhead.enter,
        ),
      )
      const served = yield* Effect.result(guarded)
      if (Result.isSuccess(served)) {
        yield* turn.answered(target)
        return { value: served.success, attempts: state.attempts }
      }
      const failed = targetFailureOf(target, served.failure)
      state.failures.push(call.mayGoOn() ? failed : brokenOff(failed))
      if (failed.skipped !== undefined) yield* countSkip(target.provider.id, failed.skipped)
      if (state.failures.at(-1)?.failover === false) break
    }
    return yield* errorOf(state.failures, state.attempts)
  })

  /** Serves a request with `call`, or says why no target did. */
  const serve = Effect.fnUntraced(
    function* <A>(request: UpstreamRequest, call: Call<A>) {
      const targets = yield* targetsOf(providers, request)
      if (request.targets !== undefined) for (const target of targets) book.configure(target)
      const turn = yield* affinity.turn(request, targets)
      const prepared = yield* ScopedRef.get(current)
      const total = Duration.toMillis(prepared.settings.timeouts.total)
      const state: RequestState = {
        settings: prepared.settings,
        attempts: [],
        onAttempt: request.onAttempt,
        failures: [],
        deadline: (yield* Clock.currentTimeMillis) + total,
        expired: false,
        called: undefined,
      }
      const expire = Effect.sync(() => {
        state.expired = true
        return Option.none<never>()
      })
      const result = Effect.raceFirst(
        Effect.asSome(tryTargets(state, turn, call, prepared)),
        Effect.delay(expire, total),
      )
      return yield* result.pipe(
        Effect.flatMap((served) =>
          Option.isSome(served) ? Effect.succeed(served.value) : outOfTime(state.called, state.attempts),
        ),
        Effect.tapError((error) => logUnserved(error, state.failures, book)),
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
