/** Which model serves which call: a strategy orders the targets that fit, each tried if the one before fails. */
import { Schema } from "effect"
import { Prices } from "./money.ts"
import { API_NAMES, type ApiName } from "../upstream/apis.ts"
import { modelOf, permits, TargetFilter, TargetName } from "../upstream/targets.ts"

/** The role that a mode gives a call. The configuration can filter targets by role. */
export const ModelRole = Schema.Literals(["proposer", "critic", "judge"])
export type ModelRole = typeof ModelRole.Type

/**
 * - `cost`: the cheapest target first, by the estimated cost of the request at hand
 * - `latency`: the lowest moving median of streams' time to first token first; targets with too few are explored
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

/** Bounds of the fault policy, the same for API and environment: the API shows both. Waits are in milliseconds. */
export const POLICY_BOUNDS = {
  retries: { minimum: 0, maximum: 5 },
  failures: { minimum: 1, maximum: 1000 },
  waitMs: { minimum: 1, maximum: 3_600_000 },
} as const

const { failures, retries, waitMs } = POLICY_BOUNDS
const WaitMs = Count(waitMs.minimum, waitMs.maximum)

export const Target = Schema.Struct({
  ...TargetName.fields,
  weight: Schema.optionalKey(
    Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 })).annotate({
      description: "Share of calls with the strategy `weighted`; 1 if left out.",
    }),
  ),
  quality: Schema.optionalKey(Fraction.annotate({ description: "For the strategy `quality`." })),
  max_context_tokens: Count(1, 100_000_000).annotate({ description: "The longest request that it takes." }),
  prices: Schema.optionalKey(Prices.annotate({ description: "Replaces the shipped prices." })),
  first_token_ms: Schema.optionalKey(
    WaitMs.annotate({ description: "Replaces the limit of the same name in `timeouts`." }),
  ),
  apis: Schema.optionalKey(
    Schema.Array(Schema.Literals(API_NAMES))
      .check(Schema.isMinLength(1), Schema.isMaxLength(API_NAMES.length))
      .annotate({
        description: "The only APIs that it serves, such as `embeddings`; jobs use `chat.completions`. Default: all.",
      }),
  ),
})
export type Target = typeof Target.Type

export const serves = ({ apis }: Target, api: ApiName): boolean => apis === undefined || apis.includes(api)

/** A name that clients may use as a model. A colon would look like an agent's, a slash like a provider's. */
const ModelName = Schema.String.check(
  Schema.isPattern(/^[\w.-]{1,64}$/, { expected: "1 to 64 letters, digits, dots, dashes or underscores" }),
)
const MAX_MODEL_NAMES = 100

/** Retries of the same target, with jittered waits that double. */
const Retry = Schema.Struct({
  max_retries: Count(retries.minimum, retries.maximum),
  base_delay_ms: WaitMs.annotate({ description: "Longest wait before the first retry; it doubles with each retry." }),
  max_delay_ms: WaitMs.annotate({ description: "Longest wait before any retry." }),
})
const Breaker = Schema.Struct({
  failure_threshold: Count(failures.minimum, failures.maximum).annotate({
    description: "Consecutive failed requests that open a target's circuit.",
  }),
  open_ms: WaitMs.annotate({ description: "How long the circuit stays open before one probe." }),
})
const Timeouts = Schema.Struct({
  first_token_ms: WaitMs.annotate({ description: "Longest wait for the first token." }),
  idle_ms: WaitMs.annotate({
    description: "Longest wait for each further token, unless the target is the last or output is final.",
  }),
  total_ms: WaitMs.annotate({ description: "Longest wait for the whole answer, with retries and failovers." }),
})

const settings = {
  strategy: Strategy.annotate({
    description: "The order in which targets are tried; docs/reference/gateway-api.md describes each.",
  }),
  baseline: TargetName.annotate({ description: "The model with whose prices costs are compared." }),
  targets: Schema.Array(Target).check(Schema.isMinLength(1), Schema.isMaxLength(100)),
  roles: Schema.optionalKey(
    Schema.Struct({
      proposer: Schema.optionalKey(TargetFilter),
      critic: Schema.optionalKey(TargetFilter),
      judge: Schema.optionalKey(TargetFilter),
    }).annotate({ description: "Which targets serve which role; without it, all serve all." }),
  ),
  names: Schema.optionalKey(
    Schema.Record(ModelName, TargetFilter).check(Schema.isMaxProperties(MAX_MODEL_NAMES)).annotate({
      description: "Names that clients may use as a model, such as `fast`, with the targets that each means.",
    }),
  ),
  cascade: Schema.optionalKey(
    Schema.Struct({
      escalate_below: Fraction.annotate({
        description: "The next target is asked if agreement or confidence is below this.",
      }),
    }).annotate({ description: "For the strategy `cascade`." }),
  ),
  retry: Retry,
  breaker: Breaker,
  timeouts: Timeouts,
}

export const RoutingSettings = Schema.Struct({
  version: Schema.Int.annotate({ description: "Counts the changes; 0 is the default." }),
  ...settings,
})
export type RoutingSettings = typeof RoutingSettings.Type

/** Whether a client's model `name` means the target: a name of the configuration, or else the model's own name. */
export const isNamed = ({ names }: Pick<RoutingSettings, "names">, name: string, target: TargetName): boolean => {
  const filter = names !== undefined && Object.hasOwn(names, name) ? names[name] : undefined
  if (filter !== undefined) return permits(filter, target)
  return [target.model, modelOf(target), `${target.provider}/${target.model}`].includes(name)
}

export const EffectivePrice = Schema.Struct({
  ...TargetName.fields,
  prices: Schema.NullOr(Prices).annotate({ description: "`null` if unknown." }),
  as_of: Schema.optionalKey(Schema.String.annotate({ description: "When a shipped price was looked up." })),
  source: Schema.optionalKey(Schema.String.annotate({ description: "Where a shipped price was looked up." })),
})
export type EffectivePrice = typeof EffectivePrice.Type

export const PricedRoutingSettings = Schema.Struct({
  ...RoutingSettings.fields,
  effective_prices: Schema.Array(EffectivePrice).annotate({
    description: "Current prices of all targets and the baseline.",
  }),
}).annotate({ identifier: "RoutingSettings" })
export type PricedRoutingSettings = typeof PricedRoutingSettings.Type

/** A new configuration from an administrator. */
export const RoutingSettingsInput = Schema.Struct({
  version: Schema.optionalKey(Schema.Int.annotate({ description: "The version that the change is based on." })),
  ...settings,
  /** Accepted and ignored, so that a configuration can be sent back as it was read. */
  effective_prices: Schema.optionalKey(Schema.Unknown),
})
export type RoutingSettingsInput = typeof RoutingSettingsInput.Type
