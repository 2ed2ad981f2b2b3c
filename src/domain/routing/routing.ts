/**
 * Which model serves which call. A target is a model at a provider; a strategy orders the targets that fit; what the
 * first one cannot serve, the next one gets.
 */
import { Schema } from "effect"
import { Prices } from "./money.ts"
import { TargetFilter, TargetName } from "../upstream/targets.ts"

/** What a model is called for. Modes give every call one of these, and configuration can filter targets by them. */
export const Role = Schema.Literals(["proposer", "critic", "judge"])
export type Role = typeof Role.Type

/**
 * - `cost`: the cheapest target first, by the estimated cost of the request at hand
 * - `latency`: the lowest moving median of time to first token first; targets without enough measurements are explored
 * - `quality`: the highest configured quality first, the cheaper one on a tie
 * - `weighted`: drawn at random in proportion to the weights
 * - `fallback`: in the order of the configuration
 * - `cascade`: the cheapest first; the next one only when the answer's agreement or confidence is below
 *   `escalate_below`, which the mode decides (FrugalGPT, Chen, Zaharia and Zou 2023, arXiv:2305.05176)
 */
export const Strategy = Schema.Literals(["cost", "latency", "quality", "weighted", "fallback", "cascade"])
export type Strategy = typeof Strategy.Type

const Fraction = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
const Count = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

/**
 * What the fault policy's numbers may be, over the API and from the environment. Both take the same, because the API
 * shows the environment's policy until somebody stores another. Waits are in milliseconds.
 */
export const POLICY_BOUNDS = {
  retries: { minimum: 0, maximum: 5 },
  failures: { minimum: 1, maximum: 1000 },
  waitMs: { minimum: 1, maximum: 3_600_000 },
} as const

const { failures, retries, waitMs } = POLICY_BOUNDS
const WaitMs = Count(waitMs.minimum, waitMs.maximum)

/**
 * `weight` is 1 by default and matters to `weighted` only; `prices` replace the shipped ones; `quality` is 0 to 1;
 * `first_token_ms` replaces the limit of the same name in `timeouts`.
 */
export const Target = Schema.Struct({
  ...TargetName.fields,
  weight: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))),
  quality: Schema.optionalKey(Fraction),
  max_context_tokens: Count(1, 100_000_000),
  prices: Schema.optionalKey(Prices),
  first_token_ms: Schema.optionalKey(WaitMs),
})
export type Target = typeof Target.Type

/** How often the same target is tried again, and how the jittered waits between the tries grow. */
const Retry = Schema.Struct({
  max_retries: Count(retries.minimum, retries.maximum),
  base_delay_ms: WaitMs,
  max_delay_ms: WaitMs,
})
/** After how many failed requests in a row a target's circuit opens, and how long it stays open before one probe. */
const Breaker = Schema.Struct({ failure_threshold: Count(failures.minimum, failures.maximum), open_ms: WaitMs })
/** How long to wait for the first token, for the next one, and for the whole answer with its retries and failovers. */
const Timeouts = Schema.Struct({
  first_token_ms: WaitMs,
  idle_ms: WaitMs,
  total_ms: WaitMs,
})

const settings = {
  strategy: Strategy,
  baseline: TargetName,
  targets: Schema.Array(Target).check(Schema.isMinLength(1), Schema.isMaxLength(100)),
  roles: Schema.optionalKey(
    Schema.Struct({
      proposer: Schema.optionalKey(TargetFilter),
      critic: Schema.optionalKey(TargetFilter),
      judge: Schema.optionalKey(TargetFilter),
    }),
  ),
  cascade: Schema.optionalKey(Schema.Struct({ escalate_below: Fraction })),
  retry: Retry,
  breaker: Breaker,
  timeouts: Timeouts,
}

/** The routing in force. `version` counts the changes; 0 is the default that no one has stored. */
export const RoutingSettings = Schema.Struct({ version: Schema.Int, ...settings })
export type RoutingSettings = typeof RoutingSettings.Type

/**
 * What a model costs at the moment, or `null` if that is not known. Shipped prices say when and where they were found.
 */
export const EffectivePrice = Schema.Struct({
  ...TargetName.fields,
  prices: Schema.NullOr(Prices),
  as_of: Schema.optionalKey(Schema.String),
  source: Schema.optionalKey(Schema.String),
})
export type EffectivePrice = typeof EffectivePrice.Type

/** The routing in force, with what its targets and its baseline cost. */
export const PricedRoutingSettings = Schema.Struct({
  ...RoutingSettings.fields,
  effective_prices: Schema.Array(EffectivePrice),
})
export type PricedRoutingSettings = typeof PricedRoutingSettings.Type

/**
 * What an administrator sends. `version` says which version the change is based on. `effective_prices` is accepted and
 * ignored, so that what was read can be sent back.
 */
export const RoutingSettingsInput = Schema.Struct({
  version: Schema.optionalKey(Schema.Int),
  ...settings,
  effective_prices: Schema.optionalKey(Schema.Unknown),
})
export type RoutingSettingsInput = typeof RoutingSettingsInput.Type
