/** The report of `/api/v1/routing/trial`: past calls priced under another routing configuration. */
import { Schema } from "effect"
import { TargetName } from "../upstream/targets.ts"

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** Bounds the work; more than a busy day needs. */
export const MAX_TRIED_CALLS = 10_000

export const RoutingTrial = Schema.Struct({
  from: Schema.DateTimeUtcFromString,
  to: Schema.DateTimeUtcFromString,
  tried_calls: Count.annotate({
    description: "Successful calls with known tokens: the newest 10,000 of all tenants.",
  }),
  other_calls: Count.annotate({ description: "Calls of the period that were not tried." }),
  actual_micro_usd: Count.annotate({ description: "Known cost of the tried calls." }),
  trial_micro_usd: Count.annotate({
    description: "Cost of the same tokens at the targets that would have served them.",
  }),
  unpriced_calls: Count.annotate({
    description: "Tried calls without an actual or a trial price; they are in neither sum.",
  }),
  unserved_calls: Count.annotate({
    description: "Tried calls that no target would have served, because of its context or the role's filter.",
  }),
  by_target: Schema.Array(
    Schema.Struct({
      ...TargetName.fields,
      actual_calls: Count.annotate({ description: "Tried calls that it served." }),
      trial_calls: Count.annotate({ description: "Tried calls that it would have served." }),
      trial_micro_usd: Count,
    }),
  ),
  method: Schema.String.annotate({ description: "How the figures are computed, and their limits." }),
})
export type RoutingTrial = typeof RoutingTrial.Type

export const TRIAL_METHOD =
  "Every call of the last 24 hours that succeeded and whose tokens are known, up to the newest 10,000, is given to the " +
  "target that this configuration would try first: by its strategy, the filter of its role and its context, at the price " +
  "that holds now. Policies of agents, failures, failovers, escalations and the independence of judges are left out, and " +
  "the same number of tokens is assumed, which another model would hardly need."
