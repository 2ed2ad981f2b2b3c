/** The report of `/api/v1/routing/stats`. Amounts are whole micro-USD. */
import { Schema } from "effect"
import { Mode } from "../jobs/modes.ts"
import { Strategy } from "./routing.ts"

const Latency = (share: string) =>
  Schema.NullOr(Schema.Natural).annotate({
    description: `Milliseconds within which ${share} of the successful calls ended, estimated from a histogram; \`null\` without one.`,
  })

const sums = {
  requests: Schema.Natural.annotate({
    description: "Requests to the router: one for each step of a job, however many calls it took.",
  }),
  calls: Schema.Natural.annotate({ description: "Provider calls, retries and failovers included." }),
  failed_calls: Schema.Natural,
  input_tokens: Schema.Natural,
  output_tokens: Schema.Natural,
  cached_tokens: Schema.Natural,
  actual_micro_usd: Schema.Natural.annotate({ description: "Known cost of all calls, failed ones included." }),
  compared_micro_usd: Schema.Natural.annotate({
    description: "The part of `actual_micro_usd` with a baseline: all of it, unless calls are unpriced.",
  }),
  baseline_micro_usd: Schema.Natural.annotate({ description: "Cost of the same tokens at the baseline's prices." }),
  saved_micro_usd: Schema.Int.annotate({
    description: "Baseline minus compared cost; negative if routing cost more than it saved.",
  }),
  saved_percent: Schema.NullOr(Schema.Finite).annotate({
    description: "Percentage of the baseline, with two decimals; `null` without a baseline.",
  }),
  unpriced_calls: Schema.Natural.annotate({
    description: "Calls whose cost or baseline is unknown. A known cost is in `actual_micro_usd` only.",
  }),
  latency_p50_ms: Latency("half"),
  latency_p95_ms: Latency("95 %"),
}

export const Savings = Schema.Struct(sums)
export type Savings = typeof Savings.Type

export const RoutingStatsReport = Schema.Struct({
  from: Schema.DateTimeUtcFromString,
  to: Schema.DateTimeUtcFromString,
  ...sums,
  by_provider_model: Schema.Array(Schema.Struct({ provider: Schema.String, model: Schema.String, ...sums })),
  by_mode: Schema.Array(
    Schema.Struct({ mode: Schema.NullOr(Mode).annotate({ description: "`null`: calls outside a job." }), ...sums }),
  ),
  by_strategy: Schema.Array(Schema.Struct({ strategy: Strategy, ...sums })),
  price_table: Schema.Struct({ version: Schema.String, as_of: Schema.String }).annotate({
    description: "The shipped prices that were used.",
  }),
  method: Schema.String.annotate({ description: "How the figures are computed, and their limits." }),
  over_time: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({ from: Schema.DateTimeUtcFromString, to: Schema.DateTimeUtcFromString, ...sums }),
    ).annotate({ description: "The same sums per interval, oldest first, if requested with `interval`." }),
  ),
}).annotate({ identifier: "RoutingStats" })
export type RoutingStatsReport = typeof RoutingStatsReport.Type

export const METHOD =
  "Baseline: the same input, output and cached tokens of every call, at the price of the configured baseline model. " +
  "The calls are taken as they were made; whether the baseline would have needed fewer or more tokens, and how good " +
  "its answers would have been, is not compared. Calls that the baseline would not have made (failed attempts, repairs " +
  "of unusable answers, escalations of a cascade and the judging that led to them) count with their cost and without a " +
  "baseline; a cached answer counts as a call without tokens or cost, whose baseline is what the answer cost at first; " +
  "a call that is repeated after a crash counts twice, or as unpriced if its usage was lost. Every " +
  "amount is rounded to a micro-USD per call. Calls without known prices or tokens are counted as unpriced and left " +
  "out of the comparison. List prices are those of the price table unless the configuration has its own."
