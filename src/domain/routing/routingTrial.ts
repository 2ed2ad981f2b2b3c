/** What a routing configuration would have done with calls that were made: the answer of `/api/v1/routing/trial`. */
import { Schema } from "effect"
import { TargetName } from "../upstream/targets.ts"

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** Calls that are tried at most: those of a busy day are more than enough to tell, and this bounds the work. */
export const MAX_TRIED_CALLS = 10_000

export const RoutingTrial = Schema.Struct({
  from: Schema.DateTimeUtcFromString,
  to: Schema.DateTimeUtcFromString,
  /** The calls of the span that succeeded, whose tokens are known: the newest 10,000 of all tenants. */
  tried_calls: Count,
  /** Calls of the span that were not tried. */
  other_calls: Count,
  /** The known cost of the tried calls. */
  actual_micro_usd: Count,
  /** What the same tokens would have cost at the targets that would have served them. */
  trial_micro_usd: Count,
  /** Tried calls without a price on one of the two sides; they are in neither sum. */
  unpriced_calls: Count,
  /** Tried calls that no target would have taken, because of its context or the filter of the role. */
  unserved_calls: Count,
  by_target: Schema.Array(
    Schema.Struct({ ...TargetName.fields, actual_calls: Count, trial_calls: Count, trial_micro_usd: Count }),
  ),
  /** How the figures come about and what they do not say. */
  method: Schema.String,
})
export type RoutingTrial = typeof RoutingTrial.Type

export const TRIAL_METHOD =
  "Every call of the last 24 hours that succeeded and whose tokens are known, up to the newest 10,000, is given to the " +
  "target that this configuration would try first: by its strategy, the filter of its role and its context, at the price " +
  "that holds now. Policies of agents, failures, failovers, escalations and the independence of judges are left out, and " +
  "the same number of tokens is assumed, which another model would hardly need."
