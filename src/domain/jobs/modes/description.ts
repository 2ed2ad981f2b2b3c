/** What every mode says of itself, for the pages, the command and the API's description. */
import { Schema } from "effect"
import type { Step } from "../step.ts"

/** How much a job may take for its answer: more samples, more rounds, a later stop. */
export const Effort = Schema.Literals(["low", "medium", "high"])
export type Effort = typeof Effort.Type
export const DEFAULT_EFFORT: Effort = "medium"

/** A verdict for people. `good` ones can be used as they are, `warn` ones need a look, `bad` ones should not be used. */
export interface VerdictMeaning {
  readonly tone: "good" | "warn" | "bad"
  readonly meaning: string
}

/** The option by which one job can depart from its effort. */
interface ModeOption {
  readonly name: "rounds" | "samples"
  readonly label: string
  readonly unit: string
  readonly minimum: number
  readonly maximum: number
}

export interface ModeDescription<Verdict extends string> {
  readonly label: string
  /** One sentence about what it does. */
  readonly hint: string
  readonly option: ModeOption
  /** The value of its option at every effort. */
  readonly depth: Readonly<Record<Effort, number>>
  readonly verdicts: Readonly<Record<Verdict, VerdictMeaning>>
  /** What its steps are called, by their kind. */
  readonly steps: Readonly<Record<string, (step: Step) => string>>
}

export const Fraction = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))

/** A note on how the result came about, if anything was out of the ordinary. */
export const note = Schema.optionalKey(Schema.String)

export const INCONCLUSIVE: VerdictMeaning = {
  tone: "warn",
  meaning: "The models did not settle it. Treat the answer as unchecked.",
}

/** The values of a mode's option, as a schema. */
export const optionSchema = ({ maximum, minimum }: ModeOption) =>
  Schema.Int.check(Schema.isBetween({ minimum, maximum }))
