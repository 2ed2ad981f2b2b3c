/**
 * Settings: each names its variable, its default as one would write it, how its text is decoded and what it is for. The
 * same table decodes the environment, prints `--help`, and is compared with docs/operations.md by a test.
 */
import { Config, Effect, Option, Result, Schema, String } from "effect"
import { ConfigurationMistakes, type Mistake, type Rule } from "../../domain/configuration.ts"

export interface Setting<A> {
  readonly variable: string
  readonly summary: string
  readonly codec: Schema.Codec<A, string>
  /** Other names of the variable, as vendors write it; the variable itself wins. */
  readonly aliases: ReadonlyArray<string>
  /** The default in the form in which the variable would be set; without one the setting is optional. */
  readonly fallback: string | undefined
}

export const setting = <A>(
  variable: string,
  codec: Schema.Codec<A, string>,
  fallback: string,
  summary: string,
  aliases: ReadonlyArray<string> = [],
): Setting<A> => ({ variable, codec, fallback, summary, aliases })

export const optionalSetting = <A>(
  variable: string,
  codec: Schema.Codec<A, string>,
  summary: string,
  aliases: ReadonlyArray<string> = [],
): Setting<A | undefined> => ({
  variable,
  // An absent variable is `undefined`; a present one decodes to an `A`.
  codec: codec as Schema.Codec<A | undefined, string>,
  fallback: undefined,
  summary,
  aliases,
})

export type Decoded<Settings extends Readonly<Record<string, Setting<unknown>>>> = {
  readonly [Key in keyof Settings]: Settings[Key] extends Setting<infer A> ? A : never
}

/** An empty variable counts as absent, as compose files and CI systems write it. */
const textOf = Effect.fnUntraced(function* (variable: string) {
  const found = yield* Config.option(Config.String(variable))
  return Option.filter(Option.map(found, String.trim), String.isNonEmpty)
})

const read = Effect.fnUntraced(
  function* (setting: Setting<unknown>) {
    let text = Option.none<string>()
    for (const variable of [setting.variable, ...setting.aliases]) {
      if (Option.isNone(text)) text = yield* textOf(variable)
    }
    const value = Option.getOrElse(text, () => setting.fallback)
    return value === undefined
      ? undefined
      : yield* Effect.mapError(Schema.decodeUnknownEffect(setting.codec)(value), (error) => firstLine(error.message))
  },
  Effect.mapError((error) => (typeof error === "string" ? error : firstLine(error.message))),
  Effect.result,
)

const firstLine = (message: string): string => message.split("\n")[0] ?? message

interface DecodeOptions<Values> {
  /** Values that count in place of what the configuration provider says, which is not read then. */
  readonly given?: Partial<Values>
  readonly rules?: ReadonlyArray<Rule<Values>>
}

/** Decodes the settings from the configuration provider; all mistakes are reported together. */
export const decodeSettings = Effect.fnUntraced(function* <
  const Settings extends Readonly<Record<string, Setting<unknown>>>,
>(settings: Settings, { given, rules = [] }: DecodeOptions<Decoded<Settings>> = {}) {
  const values: Record<string, unknown> = { ...given }
  const mistakes: Array<Mistake> = []
  for (const [key, setting] of Object.entries(settings)) {
    if (key in values) continue
    const result = yield* read(setting)
    if (Result.isSuccess(result)) values[key] = result.success
    else mistakes.push({ variable: setting.variable, problem: result.failure })
  }
  // A key that is there was given, or read with its own codec just above; one that is not has its mistake.
  const decoded = values as Decoded<Settings>
  for (const rule of rules) if (rule.of.every((key) => key in values)) mistakes.push(...rule.mistakes(decoded))
  return mistakes.length === 0 ? decoded : yield* new ConfigurationMistakes({ mistakes })
})
