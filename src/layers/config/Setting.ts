/**
 * Settings: each names its variable, its default as one would write it, how its text is decoded and what it is for. The
 * same table decodes the environment, prints `--help`, and is compared with docs/settings.md by a test.
 */
import { Config, Context, Effect, Option, Result, Schema, String } from "effect"
import { ConfigurationMistakes, type Mistake, type Rule } from "../../domain/problems/configuration.ts"
import { FlagText } from "./codecs.ts"

export interface Setting<A> {
  readonly variable: string
  readonly summary: string
  readonly codec: Schema.Codec<A, string>
  /** What vendors call the variable; it counts with `PROVIDER_FROM_ENV` alone, and the variable itself wins. */
  readonly aliases: ReadonlyArray<string>
  /** Other spellings of the variable, which count as it does. */
  readonly spellings?: ReadonlyArray<string>
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

/** Where a variable that is set was found, such as the name of a file. */
export const SettingOrigin = Context.Reference<(variable: string) => string>(
  "sealgate/layers/config/Setting/SettingOrigin",
  { defaultValue: () => () => "the environment" },
)

/**
 * Whether vendors' names count. A shell has them set for other programs, and so may name a connector of this very proxy.
 */
export const providerFromEnv = setting(
  "PROVIDER_FROM_ENV",
  FlagText,
  "0",
  "1: the vendors' own variables count too, such as OPENAI_API_KEY",
)

/** An empty variable counts as absent, as compose files and CI systems write it. */
const textOf = Effect.fnUntraced(function* (variable: string) {
  const found = yield* Config.option(Config.String(variable))
  return Option.filter(Option.map(found, String.trim), String.isNonEmpty)
})

/** The text that counts for a setting, and the variable that has it. */
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

/** Docker's `--env-file` takes quotes as part of the value, which no setting has. */
const QUOTED = /^(".*"|'.*')$/s

/** The value that a setting's text stands for; fails with what was expected. */
export const decodeText = <A>({ codec }: Setting<A>, text: string): Effect.Effect<A, string> =>
  QUOTED.test(text)
    ? Effect.fail("expected no quotes around the value; Docker's --env-file, for one, takes them as part of it")
    : Effect.mapError(Schema.decodeUnknownEffect(codec)(text), (error) => firstLine(error.message))

const read = Effect.fnUntraced(
  function* (setting: Setting<unknown>, withAliases: boolean) {
    const text = (yield* find(setting, withAliases))?.text ?? setting.fallback
    return text === undefined ? undefined : yield* decodeText(setting, text)
  },
  Effect.mapError((error) => (typeof error === "string" ? error : firstLine(error.message))),
  Effect.result,
)

/** Whether vendors' names count; a mistake in the setting itself is told with all others. */
const countsAliases = Effect.map(
  read(providerFromEnv, false),
  (result) => Result.isSuccess(result) && result.success === true,
)

/** A setting as it is found. */
export interface FoundSetting {
  readonly setting: Setting<unknown>
  /** What counts, or a default; `undefined` for what is not set. */
  readonly text: string | undefined
  /** The variable that has it, and where that was found; `undefined` for defaults. */
  readonly from: { readonly variable: string; readonly origin: string } | undefined
}

/** What is in force of each setting, and where it is from. */
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

/** Variables of vendors that are set and do not count. */
export const unusedAliases = Effect.fnUntraced(function* (settings: ReadonlyArray<Setting<unknown>>) {
  if (yield* countsAliases) return []
  const names = settings.flatMap(({ aliases }) => aliases)
  return yield* Effect.filter(names, (name) => Effect.map(textOf(name), Option.isSome))
})

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
  const withAliases = yield* countsAliases
  for (const [key, setting] of Object.entries(settings)) {
    if (key in values) continue
    const result = yield* read(setting, withAliases)
    if (Result.isSuccess(result)) values[key] = result.success
    else mistakes.push({ variable: setting.variable, problem: result.failure })
  }
  // A key that is there was given, or read with its own codec just above; one that is not has its mistake.
  const decoded = values as Decoded<Settings>
  for (const rule of rules) if (rule.of.every((key) => key in values)) mistakes.push(...rule.mistakes(decoded))
  return mistakes.length === 0 ? decoded : yield* new ConfigurationMistakes({ mistakes })
})
