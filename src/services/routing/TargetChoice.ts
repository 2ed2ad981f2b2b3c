/** Chooses and orders the targets that may serve a request. */
import { Effect } from "effect"
import { costOf } from "../../domain/routing/money.ts"
import { isNamed, type ModelRole, type RoutingSettings, serves, type Target } from "../../domain/routing/routing.ts"
import type { ApiName } from "../../domain/upstream/apis.ts"
import { permits, sameModel, sameTarget, type TargetFilter, type TargetName } from "../../domain/upstream/targets.ts"
import { hasKey, type TenantKeys } from "../../domain/upstream/upstream.ts"
import type { Upstream } from "../upstream/Upstream.ts"
import { type Allowance, longestOutput, UNLIMITED } from "./Spending.ts"
import type { FirstTokenTimes } from "./FirstTokenTimes.ts"
import { priceOf } from "./Prices.ts"
import { NoTarget } from "./RoutingErrors.ts"
import { orderBy } from "./Strategies.ts"
import { expectedOutput, leastOutput, type RequestSize } from "./TokenEstimate.ts"

/** The properties of a request that decide who may serve it. */
export interface TargetRequirements {
  /** The role of a step; absent for calls outside a job. */
  readonly role?: ModelRole | undefined
  readonly api: ApiName
  readonly size: RequestSize
  /** The model that a client named; absent for steps of jobs. */
  readonly model?: string | undefined
  readonly policy?: TargetFilter | undefined
  /** The targets that the caller's key permits. */
  readonly keyPolicy?: TargetFilter | undefined
  readonly own?: TenantKeys | undefined
  /** The limits of its calls. A cost limit excludes targets without a price. */
  readonly allowance?: Allowance | undefined
}

/** The present state of the targets; `now` in milliseconds since the epoch. */
interface TargetConditions {
  readonly upstream: Pick<Upstream["Service"], "configured" | "status">
  readonly times: FirstTokenTimes
  readonly now: number
}

/**
 * Returns the targets that fit, in the order of the strategy, at least one. A target does not fit if it
 * - has another model than the client named, does not serve the API, is not configured or has no key,
 * - is excluded by the filter of the agent, the key or the role,
 * - is too small for the request (a client's call goes to the largest if all are), or has no price under a cost limit, or
 * - leaves no room for the shortest answer within the allowance.
 *
 * Excludes open circuits, unless all are open: then the upstream answers when to retry.
 */
export const chooseTargets = (
  settings: RoutingSettings,
  { allowance = UNLIMITED, api, keyPolicy, model, own, policy, role, size }: TargetRequirements,
  { now, times, upstream }: TargetConditions,
): Effect.Effect<ReadonlyArray<Target>, NoTarget> =>
  Effect.flatMap(upstream.configured, (configured) => {
    const { input, prompt = input } = size
    const output = expectedOutput(size)
    const least = leastOutput(size)
    const pricesOf = (target: Target) => priceOf(settings, target, now)?.prices ?? null
    const estimateOf = (target: Target) => costOf(pricesOf(target), { input, output, cached: 0 })
    const roleFilter = role === undefined ? undefined : settings.roles?.[role]

    const rules: ReadonlyArray<readonly [NoTarget["reason"], (target: Target) => boolean]> = [
      ["model", (target) => model === undefined || isNamed(settings, model, target)],
      ["api", (target) => serves(target, api)],
      ["configured", (target) => configured.has(target.provider)],
      ["key", ({ provider }) => hasKey(configured.get(provider) ?? "operator", provider, own)],
      ["policy", (target) => [policy, keyPolicy, roleFilter].every((filter) => permits(filter, target))],
      // Each text of an embeddings request has its own context, so their sum is no measure.
      ["context", (target) => api === "embeddings" || prompt + output <= target.max_context_tokens],
      ["price", (target) => allowance.cost === Infinity || estimateOf(target) !== null],
      ["tokens", () => input + least <= allowance.tokens],
      ["cost", (target) => longestOutput(allowance, pricesOf(target), input) >= least],
    ]
    let fitting = settings.targets
    for (const [reason, fits] of rules) {
      const kept = fitting.filter(fits)
      // Estimates are on the long side. If all targets are too small, one is asked anyway, because clients know the
      // provider's own error for too long a prompt.
      const isEstimate = reason === "context" && model !== undefined
      fitting = kept.length === 0 && isEstimate ? largestOf(fitting) : kept
      if (fitting.length === 0) return Effect.fail(new NoTarget({ reason }))
    }
    // A single target needs no ranking.
    if (fitting.length === 1) return Effect.succeed(fitting)

    return Effect.flatMap(upstream.status, (status) => {
      const providers = new Map(status.map((provider) => [provider.provider, provider]))
      const closed = fitting.filter((target) => {
        const provider = providers.get(target.provider)
        return (provider?.targets.find(({ model }) => model === target.model) ?? provider)?.circuit !== "open"
      })
      const candidates = (closed.length === 0 ? fitting : closed).map((target) => ({
        target,
        estimate: estimateOf(target),
        firstTokenMs: times.median(target, now),
      }))
      return Effect.map(orderBy(settings.strategy)(candidates), (ordered) => ordered.map(({ target }) => target))
    })
  })

const largestOf = (targets: ReadonlyArray<Target>): ReadonlyArray<Target> => {
  const largest = Math.max(...targets.map((target) => target.max_context_tokens))
  return targets.filter((target) => target.max_context_tokens === largest)
}

/** From 0 (nothing in common) to 3 (the same target). */
const kinship = (target: TargetName, other: TargetName): number => {
  if (sameTarget(target, other)) return 3
  if (sameModel(target, other)) return 2
  return target.provider === other.provider ? 1 : 0
}

/**
 * Sorts targets by what they have in common with `others`: first by the closest one, then by all, otherwise keeps the
 * order.
 */
export const leastRelatedFirst = (
  targets: ReadonlyArray<Target>,
  others: ReadonlyArray<TargetName>,
): ReadonlyArray<Target> => {
  const closest = (target: Target) => Math.max(0, ...others.map((other) => kinship(target, other)))
  const total = (target: Target) => others.reduce((sum, other) => sum + kinship(target, other), 0)
  return targets.toSorted((a, b) => closest(a) - closest(b) || total(a) - total(b))
}
