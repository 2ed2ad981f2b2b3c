/**
 * The fault policy: handles requests when providers fail. From outside in: failover across targets → circuits of
 * provider and target → bulkhead per provider → retry → time limits of one call. `RequestFailover` takes a request
 * through these, `failureRules` defines the consequences of each kind of failure, and `TargetFailures` the error that
 * the caller gets.
 */
import { Effect, ScopedRef } from "effect"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import type { ApiRequest, UpstreamError, UpstreamRequest } from "../../domain/upstream/upstream.ts"
import { makeTimer } from "../Timer.ts"
import { makeAffinity } from "./Affinity.ts"
import { type Bulkhead, makeBulkhead } from "./Bulkhead.ts"
import type { AnswerForm } from "./Calls.ts"
import { makeCircuits } from "./Circuits.ts"
import { makeFaults, makeRepeats } from "./Faults.ts"
import { makeFirstTokenLimits } from "./FirstTokenLimits.ts"
import type { Provider } from "./Provider.ts"
import { type FailoverResult, type PolicyParts, RequestFailover } from "./RequestFailover.ts"
import { TargetRegistry } from "./TargetRegistry.ts"
import { apiNameOf, targetsOf } from "./Targets.ts"
import { countRequestFailed } from "./UpstreamMetrics.ts"
import type { UpstreamSettings } from "./UpstreamSettings.ts"
import { statusOf } from "./UpstreamStatus.ts"
import type { TargetFailure } from "./TargetFailures.ts"

const SKIPPED = { bulkhead: "not called, no place free", circuit: "not called, circuit open" } as const

/** Logs a request that no target served, without any of its content. Repetitions are for debugging. */
const logUnserved = (
  { attempts = [], code, provider, retryable }: UpstreamError,
  failures: ReadonlyArray<TargetFailure>,
  registry: TargetRegistry,
  isRepeated: boolean,
): Effect.Effect<void> => {
  const called = attempts.map(
    (call) => `${call.provider} ${registry.label(call.provider, call.model)}: ${call.outcome}`,
  )
  const passedOver = failures.flatMap(({ provider, skipped }) =>
    skipped === undefined ? [] : `${provider}: ${SKIPPED[skipped]}`,
  )
  const why = Array.from(
    Map.groupBy([...called, ...passedOver], (end) => end),
    ([end, { length }]) => (length === 1 ? end : `${end} ×${length}`),
  )
  // The others are the request's fault.
  return Effect.logWithLevel(isRepeated ? "Debug" : retryable ? "Warn" : "Info")("no provider served a request").pipe(
    Effect.annotateLogs({ code, provider, calls: attempts.length, why: why.join("; ") }),
  )
}

export const makeFaultPolicy = Effect.fnUntraced(function* (first: ReadonlyArray<Provider>, initial: UpstreamSettings) {
  let providers = first
  const registry = new TargetRegistry(providers)
  const affinity = makeAffinity()
  const faults = makeFaults()
  const isDueAt = makeRepeats()
  const timer = yield* makeTimer
  const firstTokenOf = makeFirstTokenLimits()
  // Weak, because calls of a provider that was replaced may be under way.
  const bulkheads = new WeakMap<Provider, Bulkhead>()
  const addBulkheads = (added: ReadonlyArray<Provider>, settings: UpstreamSettings) =>
    Effect.forEach(
      added.filter((provider) => !bulkheads.has(provider)),
      (provider) => Effect.map(makeBulkhead(settings.bulkhead), (bulkhead) => bulkheads.set(provider, bulkhead)),
    )
  yield* addBulkheads(first, initial)
  const parts: PolicyParts = { registry, faults, bulkheads, timer }
  const store = yield* CircuitBreaker.CircuitBreakerStore
  const prepare = (settings: UpstreamSettings) =>
    makeCircuits(settings.circuit, registry).pipe(
      Effect.map((circuits) => ({ settings, circuits })),
      Effect.provideService(CircuitBreaker.CircuitBreakerStore, store),
    )
  const current = yield* ScopedRef.fromAcquire(prepare(initial))

  /** Serves a request in the given form, or fails with the reason why no target did. */
  const serve = <A>(
    request: UpstreamRequest | ApiRequest,
    form: AnswerForm<A>,
  ): Effect.Effect<FailoverResult<A>, UpstreamError> =>
    Effect.flatMap(
      Effect.suspend(() => targetsOf(providers, request)),
      (targets) => {
        if (request.targets !== undefined) for (const target of targets) registry.configure(target)
        return Effect.flatMap(affinity.turn(request, targets), (turn) => {
          const { circuits, settings } = ScopedRef.getUnsafe(current)
          const failover = new RequestFailover(
            parts,
            {
              settings,
              circuits,
              api: apiNameOf(request),
              turn,
              firstToken: firstTokenOf(request),
              onAttempt: request.onAttempt,
            },
            form,
          )
          return Effect.tapError(failover.tryTargets(), (error) =>
            logUnserved(error, failover.failures, registry, !isDueAt(timer.now(), error.provider, error.code)),
          )
        })
      },
    ).pipe(Effect.tapError((error) => countRequestFailed(error.code)))

  const status = Effect.flatMap(ScopedRef.get(current), ({ circuits }) =>
    Effect.forEach(providers, (provider) => statusOf(provider, circuits, registry, faults)),
  )

  const configure = Effect.fnUntraced(function* (settings: UpstreamSettings) {
    yield* ScopedRef.set(current, prepare(settings))
    const resized = providers.flatMap((provider) => bulkheads.get(provider) ?? [])
    yield* Effect.forEach(resized, (bulkhead) => bulkhead.resize(settings.bulkhead))
  })

  /** Serves requests that begin from now on with these providers. */
  const replace = Effect.fnUntraced(function* (next: ReadonlyArray<Provider>) {
    registry.provide(next)
    yield* addBulkheads(next, ScopedRef.getUnsafe(current).settings)
    providers = next
  }, Effect.uninterruptible)

  return { serve, status, configure, replace, providers: Effect.sync(() => providers) }
})
