/** Which targets a request may be offered to, and in which order. */
import { Effect } from "effect"
import type { ChatRequest } from "../../domain/chat/chat.ts"
import { costOf } from "../../domain/routing/money.ts"
import type { Role, RoutingSettings, Target } from "../../domain/routing/routing.ts"
import { permits, sameTarget, type TargetFilter, type TargetName } from "../../domain/upstream/targets.ts"
import type { Upstream } from "../upstream/Upstream.ts"
import { type Allowance, longestOutput, UNLIMITED } from "./Allowance.ts"
import type { FirstTokenTimes } from "./FirstTokenTimes.ts"
import { priceOf } from "./Prices.ts"
import { NoTarget } from "./RoutingErrors.ts"
import { orderBy } from "./Strategies.ts"
import { estimateInput, expectedOutput } from "./TokenEstimate.ts"

/** What matters of a request for who may serve it. */
export interface TargetRequirements {
  readonly role: Role
  readonly completion: ChatRequest
  readonly policy?: TargetFilter | undefined
  /** What its calls may use. A limit of cost leaves out targets without a price. */
  readonly allowance?: Allowance | undefined
}

/** What is known of the targets at this moment, `now` in milliseconds since the epoch. */
interface TargetConditions {
  readonly upstream: Pick<Upstream["Service"], "configured" | "status">
  readonly times: FirstTokenTimes
  readonly now: number
}

/**
 * The targets in the order of the strategy, at least one. Left out is what is not configured, not permitted by the
 * agent's policy or the role's filter, too small for the request, without a price where one is needed, and what has an
 * open circuit, unless every circuit is open: then the upstream says so, and when to come back.
 */
export const chooseTargets = (
  settings: RoutingSettings,
  { allowance = UNLIMITED, completion, policy, role }: TargetRequirements,
  { now, times, upstream }: TargetConditions,
): Effect.Effect<ReadonlyArray<Target>, NoTarget> =>
  Effect.flatMap(upstream.configured, (configured) => {
    const input = estimateInput(completion)
    const output = expectedOutput(completion)
    const pricesOf = (target: Target) => priceOf(settings, target, now)?.prices ?? null
    const estimateOf = (target: Target) => costOf(pricesOf(target), { input, output, cached: 0 })
    const roleFilter = settings.roles?.[role]

    const rules: ReadonlyArray<readonly [NoTarget["reason"], (target: Target) => boolean]> = [
      ["configured", (target) => configured.has(target.provider)],
      ["policy", (target) => permits(policy, target) && permits(roleFilter, target)],
      ["context", (target) => input + output <= target.max_context_tokens],
      ["price", (target) => allowance.cost === Infinity || estimateOf(target) !== null],
      ["tokens", () => input + 1 <= allowance.tokens],
      ["cost", (target) => longestOutput(allowance, pricesOf(target), input) >= 1],
    ]
    let fitting = settings.targets
    for (const [reason, fits] of rules) {
      fitting = fitting.filter(fits)
      if (fitting.length === 0) return Effect.fail(new NoTarget({ reason }))
    }
    // Where there is no choice, nothing has to be known of it.
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

/** From 0, nothing in common, to 3, the same target. */
const kinship = (target: TargetName, other: TargetName): number => {
  if (sameTarget(target, other)) return 3
  if (target.model === other.model) return 2
  return target.provider === other.provider ? 1 : 0
}

/**
 * The targets that have least in common with any of `others` first, then those that have least in common with all of them,
 * else in the order they are in. Who is named more often counts for more.
 */
export const leastRelatedFirst = (
  targets: ReadonlyArray<Target>,
  others: ReadonlyArray<TargetName>,
): ReadonlyArray<Target> => {
  const closest = (target: Target) => Math.max(0, ...others.map((other) => kinship(target, other)))
  const total = (target: Target) => others.reduce((sum, other) => sum + kinship(target, other), 0)
  return targets.toSorted((a, b) => closest(a) - closest(b) || total(a) - total(b))
}
