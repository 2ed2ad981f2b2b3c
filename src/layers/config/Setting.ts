/**
 * Settings: each names its variable, its default as one would write it, how its text is decoded and what it is for. The
 * same table decodes the environment, prints `--help`, and is compared with docs/operations.md by a test.
 */
import { Config, Effect, Option, Result, Schema, String } from "effect"

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

/** Everything that is wrong with the configuration, all at once. */
export class ConfigurationMistakes extends Schema.TaggedError<ConfigurationMistakes>()("ConfigurationMistakes", {
  mistakes: Schema.Array(Schema.Struct({ variable: Schema.String, problem: Schema.String })),
}) {
  override get message(): string {
    const lines = this.mistakes.map(({ problem, variable }) => `  ${variable}: ${problem}`)
    return `The configuration has ${lines.length === 1 ? "a mistake" : `${lines.length} mistakes`}:\n${lines.join("\n")}`
  }
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

/** Decodes the settings from the configuration provider; all mistakes are reported together. */
export const decodeSettings = Effect.fnUntraced(function* <
  const Settings extends Readonly<Record<string, Setting<unknown>>>,
>(settings: Settings) {
  const values: Record<string, unknown> = {}
  const mistakes: Array<{ readonly variable: string; readonly problem: string }> = []
  for (const [key, setting] of Object.entries(settings)) {
    const result = yield* read(setting)
    if (Result.isSuccess(result)) values[key] = result.success
    else mistakes.push({ variable: setting.variable, problem: result.failure })
  }
  if (mistakes.length > 0) return yield* new ConfigurationMistakes({ mistakes })
  // Every key of the table was read with its own codec just above.
  return values as Decoded<Settings>
})
