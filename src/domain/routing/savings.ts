/** What routing saved: the report of `/api/v1/routing/stats`. Money in whole micro-USD. */
import { Schema } from "effect"
import { Mode } from "../jobs/modes.ts"
import { Strategy } from "./routing.ts"

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

const sums = {
  /** Requests to the router: each is a step of a job, however many calls it took. */
  requests: Count,
  /** Upstream calls: retries, failovers, critics, judges and repairs included. */
  calls: Count,
  failed_calls: Count,
  input_tokens: Count,
  output_tokens: Count,
  cached_tokens: Count,
  /** The known cost of all calls, failed ones included. */
  actual_micro_usd: Count,
  /** The part of that cost that can be compared with a baseline: all of it, unless calls are unpriced. */
  compared_micro_usd: Count,
  /** What the same tokens would have cost at the baseline's prices. */
  baseline_micro_usd: Count,
  /** The baseline minus the compared cost; negative if routing cost more than it saved. */
  saved_micro_usd: Schema.Int,
  /** The saving as a percentage of the baseline, with two decimals; `null` without a baseline. */
  saved_percent: Schema.NullOr(Schema.Finite),
  /** Calls whose cost or baseline is unknown. They are in no amount, except that a known cost is in the actual one. */
  unpriced_calls: Count,
}

export const Savings = Schema.Struct(sums)
export type Savings = typeof Savings.Type

export const RoutingStatsReport = Schema.Struct({
  from: Schema.DateTimeUtcFromString,
  to: Schema.DateTimeUtcFromString,
  ...sums,
  by_provider_model: Schema.Array(Schema.Struct({ provider: Schema.String, model: Schema.String, ...sums })),
  /** `null`: calls outside a job. */
  by_mode: Schema.Array(Schema.Struct({ mode: Schema.NullOr(Mode), ...sums })),
  by_strategy: Schema.Array(Schema.Struct({ strategy: Strategy, ...sums })),
  price_table: Schema.Struct({ version: Schema.String, as_of: Schema.String }),
  /** How the figures are computed and what they do not say. */
  method: Schema.String,
  /** The same sums per interval, oldest first, when they were asked for; together they are the sums of the whole. */
  over_time: Schema.optionalKey(
    Schema.Array(Schema.Struct({ from: Schema.DateTimeUtcFromString, to: Schema.DateTimeUtcFromString, ...sums })),
  ),
})
export type RoutingStatsReport = typeof RoutingStatsReport.Type

export const METHOD =
  "Baseline: the same input, output and cached tokens of every call, at the price of the configured baseline model. " +
  "The calls are taken as they were made; whether the baseline would have needed fewer or more tokens, and how good " +
  "its answers would have been, is not compared. Calls that the baseline would not have made (failed attempts, " +
  "escalations of a cascade and the judging that led to them) count with their cost and without a baseline. Every " +
  "amount is rounded to a micro-USD per call. Calls without known prices or tokens are counted as unpriced and left " +
  "out of the comparison. List prices are those of the price table unless the configuration has its own."
