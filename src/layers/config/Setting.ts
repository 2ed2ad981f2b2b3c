/** Settings: the same rows decode the environment, print `--help` and generate docs/reference/settings.md. */
import { Config, Context, Effect, Option, Result, Schema, String } from "effect"
import { ConfigurationMistakes, type Mistake, mistakesOf, type Rule } from "../../domain/problems/configuration.ts"
import { FlagText } from "./codecs.ts"

export interface Setting<A> {
  readonly variable: string
  readonly summary: string
  readonly codec: Schema.Codec<A, string>
  /** The vendor's names for the variable, read only with `PROVIDER_FROM_ENV`. The variable itself wins. */
  readonly aliases: ReadonlyArray<string>
  /** Other spellings of the variable, always read. */
  readonly spellings?: ReadonlyArray<string>
  /** The default as text of the variable; without one, the setting is optional. */
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

/** Returns where a set variable was found, such as the name of a file. */
export const SettingOrigin = Context.Reference<(variable: string) => string>(
  "sealgate/layers/config/Setting/SettingOrigin",
  { defaultValue: () => () => "the environment" },
)

/**
 * Off by default, because a shell sets vendors' variables for other programs. They may even point at this proxy's
 * connector.
 */
export const providerFromEnv = setting(
  "PROVIDER_FROM_ENV",
  FlagText,
  "0",
  "1: vendors' own variables, such as OPENAI_API_KEY, count too",
)

/** Treats an empty variable as absent, because compose files and CI systems set empty ones. */
const textOf = Effect.fnUntraced(function* (variable: string) {
  const found = yield* Config.option(Config.String(variable))
  return Option.filter(Option.map(found, String.trim), String.isNonEmpty)
})

const find = Effect.fnUntraced(function* (
  { aliases, spellings = [], variable }: Setting<unknown>,
  withAliases: boolean,
) {
  for (const name of [variable, ...spellings, ...(withAliases ? aliases : [])]) {
    const text = yield* textOf(name)
    if (Option.isSome(text)) return { name, text: text.value }
  }
  return undefined
})

/** No setting's value is quoted, but Docker's `--env-file` keeps the quotes of a line. */
const QUOTED = /^(".*"|'.*')$/s

/** Samples use these values for secrets, so everybody knows them. */
const PLACEHOLDER = /^replace-me/i

/** Why no setting may have this text; `undefined` if it may. */
const unusableText = (text: string): string | undefined => {
  if (QUOTED.test(text)) {
    return "expected a value without quotes around it; remove them (Docker's --env-file keeps them as part of the value)"
  }
  return PLACEHOLDER.test(text)
    ? "is still a placeholder that everybody knows; replace it with your own value"
    : undefined
}

/** Decodes a setting's text. The error says what was expected. */
export const decodeText = <A>({ codec }: Setting<A>, text: string): Effect.Effect<A, string> => {
  const problem = unusableText(text)
  return problem === undefined
    ? Effect.mapError(Schema.decodeUnknownEffect(codec)(text), (error) => firstLine(error.message))
    : Effect.fail(problem)
}

const read = Effect.fnUntraced(
  function* (setting: Setting<unknown>, withAliases: boolean) {
    const text = (yield* find(setting, withAliases))?.text ?? setting.fallback
    return text === undefined ? undefined : yield* decodeText(setting, text)
  },
  Effect.mapError((error) => (typeof error === "string" ? error : firstLine(error.message))),
  Effect.result,
)

/** Whether vendors' names are read. A mistake in this setting is reported with all others. */
const countsAliases = Effect.map(
  read(providerFromEnv, false),
  (result) => Result.isSuccess(result) && result.success === true,
)

export interface FoundSetting {
  readonly setting: Setting<unknown>
  /** The text in force, defaults included; `undefined` if the setting is not set. */
  readonly text: string | undefined
  /** The variable and its origin; `undefined` for defaults. */
  readonly from: { readonly variable: string; readonly origin: string } | undefined
}

export const findSettings = Effect.fnUntraced(function* (settings: ReadonlyArray<Setting<unknown>>) {
  const originOf = yield* SettingOrigin
  const withAliases = yield* countsAliases
  return yield* Effect.forEach(settings, (setting) =>
    Effect.map(find(setting, withAliases), (found): FoundSetting => ({
      setting,
      text: found?.text ?? setting.fallback,
      from: found === undefined ? undefined : { variable: found.name, origin: originOf(found.name) },
    })),
  )
})

/** Returns the vendors' variables that are set but not read. */
export const unusedAliases = Effect.fnUntraced(function* (settings: ReadonlyArray<Setting<unknown>>) {
  if (yield* countsAliases) return []
  const names = settings.flatMap(({ aliases }) => aliases)
  return yield* Effect.filter(names, (name) => Effect.map(textOf(name), Option.isSome))
})

const firstLine = (message: string): string => message.split("\n")[0] ?? message

interface DecodeOptions<Values> {
  /** Values to use instead of the configuration provider's, which are then not read. */
  readonly given?: Partial<Values>
  readonly rules?: ReadonlyArray<Rule<Values>>
}

/** Decodes the settings from the configuration provider; all mistakes are reported together. */
export const decodeSettings = Effect.fnUntraced(function* <
  const Settings extends Readonly<Record<string, Setting<unknown>>>,
>(settings: Settings, { given, rules = [] }: DecodeOptions<Decoded<Settings>> = {}) {
  const values: Record<string, unknown> = { ...given }
  const mistakes: Array<Mistake> = []
  const withAliases = yield* countsAliases
  for (const [key, setting] of Object.entries(settings)) {
    if (key in values) continue
    const result = yield* read(setting, withAliases)
    if (Result.isSuccess(result)) values[key] = result.success
    else mistakes.push({ variable: setting.variable, problem: result.failure })
  }
  // Every key was given or decoded by its codec above. A missing key has a mistake, so the cast value is not returned.
  const decoded = values as Decoded<Settings>
  for (const rule of rules) if (rule.of.every((key) => key in values)) mistakes.push(...mistakesOf(rule, decoded))
  return mistakes.length === 0 ? decoded : yield* new ConfigurationMistakes({ mistakes })
})
