/** Converts the routing configuration to text fields and back. */
import type { RoutingSettings } from "../../../client/gateway/GatewayClient.ts"
import type { RoutingSettingsInput, Strategy } from "../../../domain/routing/routing.ts"
import { withoutUndefined } from "../../../domain/json/withoutUndefined.ts"
import type { Checked } from "../checkedForm.ts"

type Target = RoutingSettingsInput["targets"][number]
type Prices = NonNullable<Target["prices"]>

/** One target. Prices are US dollars per million tokens; the gateway's own apply where they are empty. */
export interface TargetFields {
  /** Identifies the row while others are added and removed. */
  readonly key: number
  readonly provider: string
  readonly model: string
  readonly context: string
  readonly weight: string
  readonly quality: string
  readonly input: string
  readonly output: string
  readonly cached: string
}

export interface RoutingFields {
  readonly strategy: Strategy
  readonly escalateBelow: string
  readonly baseline: string
  readonly targets: ReadonlyArray<TargetFields>
}

const MICRO = 1_000_000

const text = (value: number | undefined): string => (value === undefined ? "" : String(value))
/** A price in US dollars per million tokens; empty if unknown. */
export const dollars = (price: number | undefined): string => (price === undefined ? "" : String(price / MICRO))

export const nameOf = ({ model, provider }: { readonly provider: string; readonly model: string }): string =>
  `${provider}/${model}`

export const fieldsOf = ({ baseline, cascade, strategy, targets }: RoutingSettings): RoutingFields => ({
  strategy,
  escalateBelow: text(cascade?.escalate_below),
  baseline: nameOf(baseline),
  targets: targets.map(({ max_context_tokens, model, prices, provider, quality, weight }, key) => ({
    key,
    provider,
    model,
    context: text(max_context_tokens),
    weight: text(weight),
    quality: text(quality),
    input: dollars(prices?.input),
    output: dollars(prices?.output),
    cached: dollars(prices?.cached_input),
  })),
})

export const emptyTarget = (targets: ReadonlyArray<TargetFields>, provider: string): TargetFields => ({
  key: Math.max(...targets.map(({ key }) => key)) + 1,
  provider,
  model: "",
  context: "",
  weight: "",
  quality: "",
  input: "",
  output: "",
  cached: "",
})

/** Parses `written`. Records a mistake for the field `at` if it is not a number; empty text is `undefined`. */
const amountIn = (written: string, at: string, mistakes: Record<string, string>): number | undefined => {
  const trimmed = written.trim()
  if (trimmed === "") return undefined
  const value = Number(trimmed)
  if (Number.isFinite(value) && value >= 0) return value
  mistakes[at] = "Enter a number of 0 or more, with a point for decimals."
  return undefined
}

const pricesIn = (fields: TargetFields, known: Target | undefined, mistakes: Record<string, string>) => {
  const read = (name: "input" | "output" | "cached") => amountIn(fields[name], `${fields.key}.${name}`, mistakes)
  const [input, output, cached] = [read("input"), read("output"), read("cached")]
  if (input === undefined && output === undefined && cached === undefined) return undefined
  if (input === undefined || output === undefined) {
    mistakes[`${fields.key}.${input === undefined ? "input" : "output"}`] ??=
      "Enter both the input and the output price."
    return undefined
  }
  const micro = (usd: number) => Math.round(usd * MICRO)
  const prices: Prices = { input: micro(input), output: micro(output), cached_input: micro(cached ?? input) }
  const { cache_write_input, cache_write_1h_input, long_context, input: before } = known?.prices ?? {}
  const writes = before === prices.input ? { cache_write_input, cache_write_1h_input } : {}
  return { ...prices, ...withoutUndefined({ ...writes, long_context }) }
}

/** Applies the fields to `settings`, keeping members that the form does not show; or returns mistakes by field. */
export const settingsOf = (fields: RoutingFields, settings: RoutingSettings): Checked<RoutingSettingsInput, string> => {
  const mistakes: Record<string, string> = {}
  const names = [...settings.targets, settings.baseline]
  const providers = new Map(names.map(({ provider }) => [provider as string, provider]))
  const targets = fields.targets.flatMap((target): ReadonlyArray<Target> => {
    const { context, key, model, quality, weight } = target
    const provider = providers.get(target.provider)
    const max_context_tokens = amountIn(context, `${key}.context`, mistakes)
    if (model.trim() === "") mistakes[`${key}.model`] = "Enter the model's name at its provider."
    if (max_context_tokens === undefined) mistakes[`${key}.context`] ??= "Enter the largest context in tokens."
    const known = settings.targets.find((other) => nameOf(other) === nameOf(target))
    const read = {
      weight: amountIn(weight, `${key}.weight`, mistakes),
      quality: amountIn(quality, `${key}.quality`, mistakes),
      prices: pricesIn(target, known, mistakes),
    }
    if (provider === undefined || max_context_tokens === undefined) return []
    const rest = withoutUndefined({ first_token_ms: known?.first_token_ms, apis: known?.apis, ...read })
    return [{ provider, model: model.trim(), max_context_tokens, ...rest }]
  })
  const escalate_below = amountIn(fields.escalateBelow, "escalateBelow", mistakes)
  if (Object.keys(mistakes).length > 0) return { mistakes }
  const { cascade: _, effective_prices: __, ...kept } = settings
  const baseline = targets.find((target) => nameOf(target) === fields.baseline) ?? settings.baseline
  return {
    value: {
      ...kept,
      strategy: fields.strategy,
      baseline: { provider: baseline.provider, model: baseline.model },
      targets,
      ...(escalate_below === undefined ? {} : { cascade: { escalate_below } }),
    },
  }
}
