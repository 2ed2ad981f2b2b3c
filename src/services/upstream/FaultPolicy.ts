/**
 * What happens to a request, whatever goes wrong with the providers it is offered to. From outside in: the time limit
 * of the request → failover across targets → circuit per target → bulkhead per provider → retry → time limits of one
 * call. `FailureRules` says what follows from each kind of failure, `Misses` which error a caller sees in the end.
 */
import { Clock, Duration, Effect, Option, Result, ScopedRef } from "effect"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import type { Attempt, UpstreamRequest } from "../../domain/upstream.ts"
import { makeAttempts } from "./Attempts.ts"
import { makeBackoff } from "./Backoff.ts"
import { makeBulkhead } from "./Bulkhead.ts"
import type { Call, Progress } from "./Calls.ts"
import { makeCircuits } from "./Circuits.ts"
import { failureRules } from "./FailureRules.ts"
import { brokenOff, errorOf, mayFit, type Miss, missOf, outOfTime } from "./Misses.ts"
import type { Provider, ProviderFailure } from "./Provider.ts"
import { TargetBook } from "./TargetBook.ts"
import { type Target, targetsOf } from "./Targets.ts"
import { countRequestFailed, countSkip, whileInFlight } from "./UpstreamMetrics.ts"
import type { UpstreamSettings } from "./UpstreamSettings.ts"
import { withCallSpan } from "./UpstreamSpans.ts"
import { statusOf } from "./UpstreamStatus.ts"

/** One request on its way through the policy. */
interface Journey {
  readonly settings: UpstreamSettings
  readonly attempts: Array<Attempt>
  readonly onAttempt: UpstreamRequest["onAttempt"]
  readonly misses: Array<Miss>
  /** In milliseconds since the epoch. */
  readonly deadline: number
  /** Whether the time limit has passed, so that a call that it cuts off is not taken for an abandoned one. */
  expired: boolean
  /** The target that was called last. */
  called: Target | undefined
}

export const makeFaultPolicy = Effect.fnUntraced(function* (
  providers: ReadonlyArray<Provider>,
  initial: UpstreamSettings,
) {
  const book = new TargetBook(providers)
  const attempts = yield* makeAttempts(book)
  const newBulkhead = makeBulkhead(initial.bulkhead)
  const bulkheads = yield* Effect.all({
    provider1: newBulkhead,
    provider2: newBulkhead,
    provider3: newBulkhead,
    provider4: newBulkhead,
    echo: newBulkhead,
  })
  const store = yield* CircuitBreaker.CircuitBreakerStore
  const prepare = (settings: UpstreamSettings) =>
    makeCircuits(settings.circuit, book).pipe(
      Effect.map((circuits) => ({ settings, circuits, backoff: makeBackoff(settings.retry) })),
      Effect.provideService(CircuitBreaker.CircuitBreakerStore, store),
    )
  const current = yield* ScopedRef.fromAcquire(prepare(initial))

  /** One call to one target. */
  const attempt = <A>(
    journey: Journey,
    target: Target,
    call: Call<A>,
    working: Progress["working"],
  ): Effect.Effect<A, ProviderFailure> =>
    Effect.flatMap(Clock.currentTimeMillis, (startedAt) => {
      const cause: Attempt["cause"] =
        journey.called === target ? "retry" : journey.misses.length > 0 ? "failover" : "first"
      journey.called = target
      const progress: Progress = { firstOutputAt: undefined, served: () => undefined, working }
      return whileInFlight(target.provider.id, call.once(target, progress, journey.settings.timeouts)).pipe(
        Effect.onExit((exit) => {
          const ended = { target, cause, startedAt, progress, exit, expired: journey.expired }
          return attempts.settle(ended, (attempt) => {
            journey.attempts.push(attempt)
            journey.onAttempt?.(attempt)
          })
        }),
        withCallSpan(target.provider, book.label(target), cause),
      )
    })

  /** Whether a target is tried once more after a failure. */
  const again = (journey: Journey, call: Call<unknown>, { kind, retryAfterMs }: ProviderFailure) => {
    if (!failureRules[kind].retry || !call.mayGoOn()) return Effect.succeed(false)
    if (retryAfterMs === undefined) return Effect.succeed(true)
    if (retryAfterMs > Duration.toMillis(journey.settings.retry.maxRetryAfter)) return Effect.succeed(false)
    return Effect.map(Clock.currentTimeMillis, (now) => now + retryAfterMs < journey.deadline)
  }

  const travel = Effect.fnUntraced(function* <A>(
    journey: Journey,
    targets: ReadonlyArray<Target>,
    call: Call<A>,
    { backoff, circuits }: Effect.Success<ReturnType<typeof prepare>>,
  ) {
    for (const target of targets) {
      if (!mayFit(target, journey.misses)) continue
      const guarded = circuits.guard(book.called(target).key, (working) =>
        attempt(journey, target, call, working).pipe(
          Effect.retry({
            schedule: backoff,
            times: journey.settings.retry.times,
            while: (failure) => again(journey, call, failure),
          }),
          bulkheads[target.provider.id].enter,
        ),
      )
      const served = yield* Effect.result(guarded)
      if (Result.isSuccess(served)) return { value: served.success, attempts: journey.attempts }
      const miss = missOf(target, served.failure)
      journey.misses.push(call.mayGoOn() ? miss : brokenOff(miss))
      if (served.failure._tag === "BulkheadFull") yield* countSkip(target.provider.id, "bulkhead")
      if (served.failure._tag === "CircuitBreakerError") yield* countSkip(target.provider.id, "circuit")
      if (journey.misses.at(-1)?.failover === false) break
    }
    return yield* errorOf(journey.misses, journey.attempts)
  })

  /** Serves a request with `call`, or says why no target did. */
  const serve = Effect.fnUntraced(
    function* <A>(request: UpstreamRequest, call: Call<A>) {
      const targets = yield* targetsOf(providers, request)
      if (request.targets !== undefined) for (const target of targets) book.configure(target)
      const prepared = yield* ScopedRef.get(current)
      const total = Duration.toMillis(prepared.settings.timeouts.total)
      const journey: Journey = {
        settings: prepared.settings,
        attempts: [],
        onAttempt: request.onAttempt,
        misses: [],
        deadline: (yield* Clock.currentTimeMillis) + total,
        expired: false,
        called: undefined,
      }
      const expire = Effect.sync(() => {
        journey.expired = true
        return Option.none<never>()
      })
      const result = yield* Effect.raceFirst(
        Effect.asSome(travel(journey, targets, call, prepared)),
        Effect.delay(expire, total),
      )
      if (Option.isSome(result)) return result.value
      return yield* outOfTime(journey.called, journey.attempts)
    },
    Effect.tapError((error) => countRequestFailed(error.code)),
  )

  const status = Effect.flatMap(ScopedRef.get(current), ({ circuits }) =>
    Effect.forEach(providers, (provider) => statusOf(provider, circuits, book)),
  )

  const configure = Effect.fnUntraced(function* (settings: UpstreamSettings) {
    yield* ScopedRef.set(current, prepare(settings))
    yield* Effect.forEach(Object.values(bulkheads), (bulkhead) => bulkhead.resize(settings.bulkhead))
  })

  return { serve, status, configure, attempts: attempts.ended }
})
