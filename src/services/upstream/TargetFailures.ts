/** Failures of targets to serve a request, and the choice of the one that the caller sees. */
import { Duration, Record, Redacted } from "effect"
import type { CircuitBreakerError } from "effect/persistence/CircuitBreaker"
import { failureCodes, failureRules, type UpstreamCode } from "../../domain/upstream/failures.ts"
import { type Attempt, type ProviderId, UpstreamError } from "../../domain/upstream/upstream.ts"
import type { BulkheadFull } from "./Bulkhead.ts"
import type { ProviderFailure } from "./Provider.ts"
import type { ModelTarget } from "./Targets.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"

/** Why a target was skipped: its places were taken, or its circuit was open. */
export type SkipReason = "bulkhead" | "circuit"

/** A target that did not serve the request: it failed for good, had no free place, or its circuit was open. */
export interface TargetFailure {
  readonly provider: ProviderId
  readonly code: UpstreamCode
  readonly failover: boolean
  readonly contextTokens: number | undefined
  readonly skipped?: SkipReason | undefined
  readonly detail?: ProviderFailure["detail"] | undefined
  readonly errors?: ProviderFailure["errors"] | undefined
  readonly said?: ProviderFailure["said"] | undefined
  readonly retryAfterMs?: number | undefined
}

export const targetFailureOf = (
  target: ModelTarget,
  failure: ProviderFailure | BulkheadFull | CircuitBreakerError,
): TargetFailure => {
  const isContextFull = failure._tag === "ProviderFailure" && failure.kind === "context-too-long"
  const common = { provider: target.provider.id, contextTokens: isContextFull ? target.contextTokens : undefined }
  switch (failure._tag) {
    case "ProviderFailure": {
      const { code, failover: mayFailOver } = failureRules[failure.kind]
      const isUnknown = failure.kind === "unknown-model"
      // If only the caller named the model, failover would let another model answer in its place.
      const isOfModel = isUnknown || failure.kind === "incapable"
      const failover = mayFailOver && !(isOfModel && target.named === true)
      const detail = isUnknown ? namingModel(target.model, failure.detail) : failure.detail
      const { errors, retryAfterMs, said } = failure
      return { ...common, code, failover, detail, errors, said, retryAfterMs }
    }
    case "BulkheadFull":
      return { ...common, code: "overloaded", failover: true, skipped: "bulkhead" }
    case "CircuitBreakerError": {
      const { reason } = failure
      const retryAfterMs = reason._tag === "CircuitOpen" ? Duration.toMillis(reason.retryAfter) : undefined
      return { ...common, code: "upstream-unavailable", failover: true, retryAfterMs, skipped: "circuit" }
    }
  }
}

/** Adds the model's name, because the caller may have named another one or none. */
const namingModel = (model: string, said: Redacted.Redacted | undefined): Redacted.Redacted =>
  Redacted.make(said === undefined ? model : `${model}: ${Redacted.value(said)}`)

/** Ends the search with this failure: `upstream-interrupted` if the caller has output of it. */
export const endingSearch = (failed: TargetFailure, hasOutput: boolean): TargetFailure =>
  failed.failover ? { ...failed, failover: false, ...(hasOutput && { code: "upstream-interrupted" }) } : failed

/** Whether to ask a target: not if its context window is known, and no larger than one that was too small. */
export const mayFit = (target: ModelTarget, failures: ReadonlyArray<TargetFailure>): boolean =>
  !failures.some(
    (failed) =>
      failed.code === "context-too-long" &&
      failed.contextTokens !== undefined &&
      target.contextTokens !== undefined &&
      target.contextTokens <= failed.contextTokens,
  )

/**
 * Returns the error of a request that no target served: the failure that ended the search, or else the one whose code
 * comes first in {@link failureCodes}. Of equal failures the first counts, because the first target is preferred.
 * `retryAfterMs` is the soonest that any target may work again.
 */
export const errorOf = (failures: ReadonlyArray<TargetFailure>, attempts: ReadonlyArray<Attempt>): UpstreamError => {
  const last = failures.at(-1)
  const reported =
    last?.failover === false
      ? last
      : Record.keys(failureCodes)
          .map((code) => failures.find((failed) => failed.code === code))
          .find((failed) => failed !== undefined)
  const waits = failures.flatMap((failed) => failed.retryAfterMs ?? [])
  return new UpstreamError({
    code: reported?.code ?? "upstream-unavailable",
    ...(reported === undefined ? {} : { provider: reported.provider }),
    ...withoutUndefined({ detail: reported?.detail, errors: reported?.errors, said: reported?.said }),
    ...(waits.length === 0 || last?.failover === false ? {} : { retryAfterMs: Math.min(...waits) }),
    ...(attempts.length === 0 ? {} : { attempts }),
  })
}

/** Returns the error of a request that ran out of time. `called` is the target that it waited for or called last. */
export const outOfTime = (called: ModelTarget | undefined, attempts: ReadonlyArray<Attempt>): UpstreamError =>
  new UpstreamError({
    code: "upstream-timeout",
    ...(called === undefined ? {} : { provider: called.provider.id }),
    ...(attempts.length === 0 ? {} : { attempts }),
  })
