/** The routing configuration as a form: what people write, and what it is for the gateway. */
import type { RoutingSettings } from "../../../client/gateway/GatewayClient.ts"
import type { RoutingSettingsInput, Strategy } from "../../../domain/routing/routing.ts"
import { withoutUndefined } from "../../../domain/json/withoutUndefined.ts"

type Target = RoutingSettingsInput["targets"][number]
type Prices = NonNullable<Target["prices"]>

/** One target. Prices are US dollars per million tokens; empty ones are those that the gateway knows. */
export interface TargetFields {
  /** Stays the same while rows come and go. */
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

interface RoutingFields {
  readonly strategy: Strategy
  readonly escalateBelow: string
  readonly baseline: string
  readonly targets: ReadonlyArray<TargetFields>
}

const MICRO = 1_000_000

const text = (value: number | undefined): string => (value === undefined ? "" : String(value))
const dollars = (price: number | undefined): string => (price === undefined ? "" : String(price / MICRO))

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

export type Mistakes = Readonly<Record<string, string>>

/** A number in `written`, or a mistake for the field named `at`; nothing where nothing is written. */
const numberIn = (written: string, at: string, mistakes: Record<string, string>): number | undefined => {
  const trimmed = written.trim()
  if (trimmed === "") return undefined
  const value = Number(trimmed)
  if (Number.isFinite(value) && value >= 0) return value
  mistakes[at] = "A number of 0 or more, with a point for decimals."
  return undefined
}

const pricesIn = (fields: TargetFields, known: Target | undefined, mistakes: Record<string, string>) => {
  const read = (name: "input" | "output" | "cached") => numberIn(fields[name], `${fields.key}.${name}`, mistakes)
  const [input, output, cached] = [read("input"), read("output"), read("cached")]
  if (input === undefined && output === undefined && cached === undefined) return undefined
  if (input === undefined || output === undefined) {
    mistakes[`${fields.key}.${input === undefined ? "input" : "output"}`] ??= "Own prices need both, in and out."
    return undefined
  }
  const micro = (usd: number) => Math.round(usd * MICRO)
  const prices: Prices = { input: micro(input), output: micro(output), cached_input: micro(cached ?? input) }
  return { ...prices, ...withoutUndefined({ long_context: known?.prices?.long_context }) }
}

/** What the fields make of `settings`; what the form does not show stays as it is. Or what is wrong, by field. */
export const settingsOf = (
  fields: RoutingFields,
  settings: RoutingSettings,
):
  | { readonly ok: true; readonly value: RoutingSettingsInput }
  | { readonly ok: false; readonly mistakes: Mistakes } => {
  const mistakes: Record<string, string> = {}
  const names = [...settings.targets, settings.baseline]
  const providers = new Map(names.map(({ provider }) => [provider as string, provider]))
  const targets = fields.targets.flatMap((target): ReadonlyArray<Target> => {
    const { context, key, model, quality, weight } = target
    const provider = providers.get(target.provider)
    const max_context_tokens = numberIn(context, `${key}.context`, mistakes)
    if (model.trim() === "") mistakes[`${key}.model`] = "The model's name at its provider."
    if (max_context_tokens === undefined) mistakes[`${key}.context`] ??= "How many tokens it takes at most."
    const known = settings.targets.find((other) => nameOf(other) === nameOf(target))
    const read = {
      weight: numberIn(weight, `${key}.weight`, mistakes),
      quality: numberIn(quality, `${key}.quality`, mistakes),
      prices: pricesIn(target, known, mistakes),
    }
    if (provider === undefined || max_context_tokens === undefined) return []
    const rest = withoutUndefined({ first_token_ms: known?.first_token_ms, ...read })
    return [{ provider, model: model.trim(), max_context_tokens, ...rest }]
  })
  const escalate_below = numberIn(fields.escalateBelow, "escalateBelow", mistakes)
  if (Object.keys(mistakes).length > 0) return { ok: false, mistakes }
  const { cascade: _, effective_prices: __, ...kept } = settings
  const baseline = targets.find((target) => nameOf(target) === fields.baseline) ?? settings.baseline
  return {
    ok: true,
    value: {
      ...kept,
      strategy: fields.strategy,
      baseline: { provider: baseline.provider, model: baseline.model },
      targets,
      ...(escalate_below === undefined ? {} : { cascade: { escalate_below } }),
    },
  }
}
