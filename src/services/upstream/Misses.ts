/** Why targets did not serve a request, and which of those reasons its caller hears. */
import { Duration, Redacted } from "effect"
import type { CircuitBreakerError } from "effect/persistence/CircuitBreaker"
import { type Attempt, type ProviderId, type UpstreamCode, UpstreamError } from "../../domain/upstream.ts"
import type { BulkheadFull } from "./Bulkhead.ts"
import { failureRules } from "./FailureRules.ts"
import type { ProviderFailure } from "./Provider.ts"
import type { Target } from "./Targets.ts"

/** One target that did not serve the request: it failed for good, had no place free, or its circuit was open. */
export interface Miss {
  readonly provider: ProviderId
  readonly code: UpstreamCode
  /** Whether the next target may be asked. */
  readonly failover: boolean
  readonly contextTokens: number | undefined
  readonly detail?: Redacted.Redacted | undefined
  readonly retryAfterMs?: number | undefined
}

export const missOf = (target: Target, failure: ProviderFailure | BulkheadFull | CircuitBreakerError): Miss => {
  const missed = { provider: target.provider.id, contextTokens: target.contextTokens }
  switch (failure._tag) {
    case "ProviderFailure": {
      const { code, failover } = failureRules[failure.kind]
      const detail = failure.kind === "unknown-model" ? namingModel(target.model, failure.detail) : failure.detail
      return { ...missed, code, failover, detail, retryAfterMs: failure.retryAfterMs }
    }
    case "BulkheadFull":
      return { ...missed, code: "overloaded", failover: true }
    case "CircuitBreakerError": {
      const { reason } = failure
      const retryAfterMs = reason._tag === "CircuitOpen" ? Duration.toMillis(reason.retryAfter) : undefined
      return { ...missed, code: "upstream-unavailable", failover: true, retryAfterMs }
    }
  }
}

/** Which model it was, because the caller may have named none, or one for another provider. */
const namingModel = (model: string, said: Redacted.Redacted | undefined): Redacted.Redacted =>
  Redacted.make(said === undefined ? model : `${model}: ${Redacted.value(said)}`)

/**
 * What a caller who cannot take a restart hears when its stream breaks after output began: that the answer is not
 * whole, and nothing that would invite the same request to be sent again in the middle of it.
 */
export const brokenOff = (miss: Miss): Miss => ({
  ...miss,
  code: TRANSIENT.has(miss.code) ? "upstream-truncated" : miss.code,
  failover: false,
})

/** Kinds of failure that, in the middle of an answer, only mean that it broke off. */
const TRANSIENT: ReadonlySet<UpstreamCode> = new Set(["rate-limited", "upstream-unavailable", "upstream-protocol"])

/**
 * Whether a target is worth asking after `misses`: not if its context is known to be no larger than one that was too
 * small. A window that is not known may be larger.
 */
export const mayFit = (target: Target, misses: ReadonlyArray<Miss>): boolean =>
  !misses.some(
    (miss) =>
      miss.code === "context-too-long" &&
      miss.contextTokens !== undefined &&
      target.contextTokens !== undefined &&
      target.contextTokens <= miss.contextTokens,
  )

/**
 * Which failure a caller hears when every target failed: first what may pass if it waits, the most specific before the
 * vaguest; then what it can change itself; then what only the operator can put right. A failure that ended the search
 * comes before them all, see {@link errorOf}.
 */
const PRECEDENCE: ReadonlyArray<UpstreamCode> = [
  "rate-limited",
  "overloaded",
  "upstream-timeout",
  "upstream-truncated",
  "upstream-protocol",
  "upstream-unavailable",
  "context-too-long",
  "unsupported",
  "unknown-model",
  "upstream-unauthorized",
]

/**
 * The error of a request that no target served. Of several equal failures the first is told, because the first target
 * is the preferred one; `retryAfterMs` is the soonest that any target may work again.
 */
export const errorOf = (misses: ReadonlyArray<Miss>, attempts: ReadonlyArray<Attempt>): UpstreamError => {
  const last = misses.at(-1)
  const told =
    last?.failover === false
      ? last
      : PRECEDENCE.map((code) => misses.find((miss) => miss.code === code)).find((miss) => miss !== undefined)
  const waits = misses.flatMap((miss) => miss.retryAfterMs ?? [])
  return new UpstreamError({
    code: told?.code ?? "upstream-unavailable",
    ...(told === undefined ? {} : { provider: told.provider }),
    ...(told?.detail === undefined ? {} : { detail: told.detail }),
    ...(waits.length === 0 || last?.failover === false ? {} : { retryAfterMs: Math.min(...waits) }),
    ...(attempts.length === 0 ? {} : { attempts }),
  })
}

/** The error of a request whose time ran out; `called` is the target that it was waiting for or had called last. */
export const outOfTime = (called: Target | undefined, attempts: ReadonlyArray<Attempt>): UpstreamError =>
  new UpstreamError({
    code: "upstream-timeout",
    ...(called === undefined ? {} : { provider: called.provider.id }),
    ...(attempts.length === 0 ? {} : { attempts }),
  })
