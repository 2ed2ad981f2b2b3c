/** Mistakes in the configuration, in one setting or between several. */
import { Effect, Schema } from "effect"

/** A mistake in one setting, with the name of its variable. */
const Mistake = Schema.Struct({ variable: Schema.String, problem: Schema.String })
export type Mistake = typeof Mistake.Type

/** A rule for several settings together. */
export interface Rule<Values> {
  /** The settings that the rule reads. */
  readonly of: ReadonlyArray<keyof Values>
  /** Returns the problem of each variable, `false` if there is none. Runs only if all its settings decode. */
  readonly problems: (values: Values) => Readonly<Record<string, string | false>>
}

export const mistakesOf = <Values>({ problems }: Rule<Values>, values: Values): ReadonlyArray<Mistake> =>
  Object.entries(problems(values)).flatMap(([variable, problem]) => (problem === false ? [] : [{ variable, problem }]))

export class ConfigurationMistakes extends Schema.TaggedError<ConfigurationMistakes>()("ConfigurationMistakes", {
  mistakes: Schema.Array(Mistake),
}) {
  override get message(): string {
    const lines = this.mistakes.map(({ problem, variable }) => `  ${variable}: ${problem}`)
    return `The configuration has ${lines.length === 1 ? "a mistake" : `${lines.length} mistakes`}:\n${lines.join("\n")}`
  }
}

export const checkRules = <Values>(values: Values, rules: ReadonlyArray<Rule<Values>>) => {
  const mistakes = rules.flatMap((rule) => mistakesOf(rule, values))
  return mistakes.length === 0 ? Effect.void : Effect.fail(new ConfigurationMistakes({ mistakes }))
}
