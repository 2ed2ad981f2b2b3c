/** What a configuration can be wrong about: single settings, and several that do not go together. */
import { Effect, Schema } from "effect"

/** What is wrong with one setting, by the name of its variable. */
const Mistake = Schema.Struct({ variable: Schema.String, problem: Schema.String })
export type Mistake = typeof Mistake.Type

/** What several settings have to be together. */
export interface Rule<Values> {
  /** The settings that it looks at. */
  readonly of: ReadonlyArray<keyof Values>
  /** What is wrong with them; looked for when all of them could be decoded, so that nothing is blamed twice. */
  readonly mistakes: (values: Values) => ReadonlyArray<Mistake>
}

/** Everything that is wrong with the configuration, all at once. */
export class ConfigurationMistakes extends Schema.TaggedError<ConfigurationMistakes>()("ConfigurationMistakes", {
  mistakes: Schema.Array(Mistake),
}) {
  override get message(): string {
    const lines = this.mistakes.map(({ problem, variable }) => `  ${variable}: ${problem}`)
    return `The configuration has ${lines.length === 1 ? "a mistake" : `${lines.length} mistakes`}:\n${lines.join("\n")}`
  }
}

/** Fails with everything in `values` that is against the rules. */
export const checkRules = <Values>(values: Values, rules: ReadonlyArray<Rule<Values>>) => {
  const mistakes = rules.flatMap((rule) => rule.mistakes(values))
  return mistakes.length === 0 ? Effect.void : Effect.fail(new ConfigurationMistakes({ mistakes }))
}
