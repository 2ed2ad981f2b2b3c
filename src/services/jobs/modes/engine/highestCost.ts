/** The highest cost of a job: every call that its mode may make, each with the dearest model that may serve it. */
import { type AtMost, type JobTask, messagesOf } from "../../../../domain/jobs/job.ts"
import { highestCostOf } from "../../../../domain/routing/money.ts"
import { ModelRole, type RoutingSettings, serves, type Target } from "../../../../domain/routing/routing.ts"
import { CHAT_COMPLETIONS } from "../../../../domain/upstream/apis.ts"
import { permits } from "../../../../domain/upstream/targets.ts"
import { priceOf } from "../../../routing/Prices.ts"
import { estimateInput } from "../../../routing/TokenEstimate.ts"
import type { PlannedJob } from "../../CostBound.ts"

/** Maximum numbers of a job's calls by role. A cascade multiplies `perTier` by its targets, but not `besides`. */
export interface MaxCalls {
  readonly perTier: Readonly<Record<ModelRole, number>>
  readonly besides: Readonly<Record<ModelRole, number>>
}

/** `now` in milliseconds since the epoch. */
export const highestCost = (
  settings: RoutingSettings,
  { agent, task }: PlannedJob,
  calls: MaxCalls,
  now: number,
): AtMost => {
  const { limits, model_policy } = agent
  const priced = limits.max_cost_micro_usd !== undefined
  const dearest = (target: Target): number | null => {
    const prices = priceOf(settings, target, now)?.prices ?? null
    const context = target.max_context_tokens
    const input = Math.min(context, inputOf(task))
    const all = highestCostOf(prices, { input: context, output: 0 })
    const long = highestCostOf(prices, { input, output: context - input })
    return all === null || long === null ? null : Math.max(all, long)
  }
  let count = 0
  let cost = 0
  let one = 0
  let unpriced = false
  for (const role of ModelRole.literals) {
    const allowed = settings.targets.filter(
      (target) =>
        serves(target, CHAT_COMPLETIONS) && permits(model_policy, target) && permits(settings.roles?.[role], target),
    )
    // Under a cost limit, the router never calls models without a price.
    const costs = allowed.map(dearest).filter((each) => !priced || each !== null)
    const tiers = settings.strategy === "cascade" ? Math.max(1, allowed.length) : 1
    const times = tiers * calls.perTier[role] + calls.besides[role]
    count += times
    if (times === 0) continue
    const most = costs.includes(null) ? null : Math.max(0, ...costs.map((each) => each ?? 0))
    unpriced ||= most === null
    cost += times * (most ?? 0)
    one = Math.max(one, most ?? 0)
  }
  const { max_calls, max_cost_micro_usd = Infinity } = limits
  const byCalls = max_calls === undefined ? cost : Math.min(cost, max_calls * one)
  const most = Math.min(unpriced ? Infinity : byCalls, max_cost_micro_usd)
  return { calls: Math.min(count, max_calls ?? Infinity), cost_micro_usd: most === Infinity ? null : most }
}

const inputOf = (task: JobTask): number => estimateInput({ messages: messagesOf(task) })
