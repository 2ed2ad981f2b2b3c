/** Mistakes in the configuration: in a single setting, or between several that contradict each other. */
import { Effect, Schema } from "effect"

/** What is wrong with one setting, by the name of its variable. */
const Mistake = Schema.Struct({ variable: Schema.String, problem: Schema.String })
export type Mistake = typeof Mistake.Type

/** A condition that several settings have to meet together. */
export interface Rule<Values> {
  /** The settings that the rule reads. */
  readonly of: ReadonlyArray<keyof Values>
  /**
   * The mistakes that the rule finds. It runs only when all of its settings could be decoded, so that no mistake is
   * reported twice.
   */
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
