/**
 * What happens to a request, whatever goes wrong with the providers it is offered to. From outside in: the time limit
 * of the request → failover across targets → circuit per target → bulkhead per provider → retry → time limits of one
 * call. `FailureRules` says what follows from each kind of failure, `Misses` which error a caller sees in the end.
 */
import { Cause, Clock, Duration, Effect, Exit, Option, PubSub, Result, ScopedRef, Stream } from "effect"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import {
  type Attempt,
  type AttemptOutcome,
  type ProviderId,
  type UpstreamCode,
  UpstreamError,
  type UpstreamRequest,
} from "../../domain/upstream.ts"
import { makeBackoff } from "./Backoff.ts"
import { makeBulkhead } from "./Bulkhead.ts"
import type { Call, Progress } from "./Calls.ts"
import { type CircuitState, makeCircuits } from "./Circuits.ts"
import { failureRules } from "./FailureRules.ts"
import { errorOf, mayFit, type Miss, missOf } from "./Misses.ts"
import type { Provider, ProviderFailure } from "./Provider.ts"
import { TargetBook } from "./TargetBook.ts"
import { type Target, targetsOf } from "./Targets.ts"
import { countAttempt, countRequestFailed, countSkip, whileInFlight } from "./UpstreamMetrics.ts"
import type { UpstreamSettings } from "./UpstreamSettings.ts"
import { annotateCall, withCallSpan } from "./UpstreamSpans.ts"

/** A target's state. `lastSuccess` is in milliseconds since the epoch. */
export interface TargetStatus {
  readonly model: string
  readonly circuit: CircuitState
  readonly lastSuccess: Option.Option<number>
}

/** A provider's state as `/ready` shows it. `lastSuccess` is in milliseconds since the epoch. */
export interface ProviderStatus {
  readonly provider: ProviderId
  /** Its default model. */
  readonly model: string
  /** The best circuit of its targets: it is open only when nothing of the provider can be called. */
  readonly circuit: CircuitState
  readonly lastSuccess: Option.Option<number>
  /** The targets that were called so far. */
  readonly targets: ReadonlyArray<TargetStatus>
}

/** Attempts that wait for a slow reader of them before it loses the oldest. */
export const ATTEMPTS_KEPT = 1024

/** One request on its way through the policy. */
interface Journey {
  readonly settings: UpstreamSettings
  readonly attempts: Array<Attempt>
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
  const attempted = yield* PubSub.sliding<Attempt>(ATTEMPTS_KEPT)
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

  /** Enters a finished call in the books. */
  const settle = Effect.fnUntraced(function* (
    journey: Journey,
    target: Target,
    begun: Pick<Attempt, "cause" | "startedAt">,
    progress: Progress,
    exit: Exit.Exit<unknown, ProviderFailure>,
  ) {
    const finishedAt = yield* Clock.currentTimeMillis
    const failure = Exit.isSuccess(exit) ? undefined : Option.getOrUndefined(Cause.findErrorOption(exit.cause))
    const served = progress.served()
    const attempt: Attempt = {
      ...begun,
      provider: target.provider.id,
      model: target.model,
      servedModel: served === undefined || served.model === "" ? null : served.model,
      outcome: outcomeOf(exit, failure, journey.expired),
      finishedAt,
      timeToFirstTokenMs: progress.firstOutputAt === undefined ? null : progress.firstOutputAt - begun.startedAt,
      usage: failure?.usage ?? served?.usage ?? null,
    }
    journey.attempts.push(attempt)
    if (attempt.outcome === "success") book.succeeded(target, finishedAt)
    yield* PubSub.publish(attempted, attempt)
    yield* countAttempt(attempt, book.label(target))
    yield* annotateCall(attempt, served)
  })

  /** One call to one target. */
  const attempt = <A>(journey: Journey, target: Target, call: Call<A>): Effect.Effect<A, ProviderFailure> =>
    Effect.flatMap(Clock.currentTimeMillis, (startedAt) => {
      const cause = journey.called === target ? "retry" : journey.misses.length > 0 ? "failover" : "first"
      journey.called = target
      const progress: Progress = { firstOutputAt: undefined, served: () => undefined }
      return whileInFlight(target.provider.id, call.once(target, progress, journey.settings.timeouts)).pipe(
        Effect.onExit((exit) => settle(journey, target, { cause, startedAt }, progress, exit)),
        withCallSpan(target.provider.id, book.label(target), cause),
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
      const served = yield* attempt(journey, target, call).pipe(
        Effect.retry({
          schedule: backoff,
          times: journey.settings.retry.times,
          while: (failure) => again(journey, call, failure),
        }),
        bulkheads[target.provider.id].enter,
        (guarded) => circuits.guard(book.called(target).key, guarded),
        Effect.result,
      )
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
      if (request.targets !== undefined) for (const target of targets) book.learn(target)
      const prepared = yield* ScopedRef.get(current)
      const total = Duration.toMillis(prepared.settings.timeouts.total)
      const journey: Journey = {
        settings: prepared.settings,
        attempts: [],
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
      return yield* outOfTime(journey)
    },
    Effect.tapError((error) => countRequestFailed(error.code)),
  )

  const status = Effect.gen(function* () {
    const { circuits } = yield* ScopedRef.get(current)
    return yield* Effect.forEach(providers, ({ defaultModel, id }) =>
      Effect.gen(function* () {
        const targets = yield* Effect.forEach(book.of(id), (target) =>
          Effect.map(circuits.stateOf(target), (circuit): TargetStatus => {
            const { lastSuccess, model } = target
            return { model, circuit, lastSuccess: Option.fromUndefinedOr(lastSuccess) }
          }),
        )
        const successes = book.of(id).flatMap(({ lastSuccess }) => lastSuccess ?? [])
        const provider: ProviderStatus = {
          provider: id,
          model: defaultModel,
          circuit: yield* circuits.bestOf(id),
          lastSuccess: successes.length === 0 ? Option.none() : Option.some(Math.max(...successes)),
          targets,
        }
        return provider
      }),
    )
  })

  const configure = Effect.fnUntraced(function* (settings: UpstreamSettings) {
    yield* ScopedRef.set(current, prepare(settings))
    yield* Effect.forEach(Object.values(bulkheads), (bulkhead) => bulkhead.resize(settings.bulkhead))
  })

  return { serve, status, configure, attempts: Stream.fromPubSub(attempted) }
})

/** A whole answer's or a stream's exit as accounting names it. */
const outcomeOf = (
  exit: Exit.Exit<unknown, ProviderFailure>,
  failure: ProviderFailure | undefined,
  expired: boolean,
): AttemptOutcome => {
  if (Exit.isSuccess(exit)) return "success"
  if (failure !== undefined) return failure.kind
  if (Cause.hasInterruptsOnly(exit.cause)) return expired ? "timeout" : "interrupted"
  // A defect of the provider's translation: whatever it read, it could not make sense of it.
  return "garbage"
}

/**
 * What a caller who cannot take a restart hears when its stream breaks after output began: that the answer is not
 * whole, and nothing that would invite the same request to be sent again in the middle of it.
 */
const brokenOff = (miss: Miss): Miss => ({
  ...miss,
  code: TRANSIENT.has(miss.code) ? "upstream-truncated" : miss.code,
  failover: false,
})

/** Kinds of failure that, in the middle of an answer, only mean that it broke off. */
const TRANSIENT: ReadonlySet<UpstreamCode> = new Set(["rate-limited", "upstream-unavailable", "upstream-protocol"])

const outOfTime = ({ attempts, called }: Journey): UpstreamError =>
  new UpstreamError({
    code: "upstream-timeout",
    ...(called === undefined ? {} : { provider: called.provider.id }),
    ...(attempts.length === 0 ? {} : { attempts }),
  })
