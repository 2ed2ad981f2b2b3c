/** The description of a mode, for the pages, the command and the API's description. */
import { Record, Schema } from "effect"
import type { Step } from "../step.ts"

/** How much a job may take for its answer. */
export const Effort = Schema.Literals(["low", "medium", "high"])
export type Effort = typeof Effort.Type
export const DEFAULT_EFFORT: Effort = "medium"

/** Meaning of a verdict. `good` answers can be used as they are, `warn` ones need a look, `bad` ones should not be used. */
export interface VerdictMeaning {
  readonly tone: "good" | "warn" | "bad"
  readonly meaning: string
}

/** The option with which a job overrides its effort. */
interface ModeOption {
  readonly name: "rounds" | "samples" | "turns"
  readonly label: string
  readonly unit: string
  readonly minimum: number
  readonly maximum: number
}

export interface ModeDescription<Verdict extends string> {
  readonly label: string
  /** One sentence on how the mode works. */
  readonly hint: string
  /** Whether its models may use tools with effects and ask people: each of several samples would repeat the effects. */
  readonly mayAct: boolean
  readonly option: ModeOption
  /** The option's value for each effort. */
  readonly depth: Readonly<Record<Effort, number>>
  readonly verdicts: Readonly<Record<Verdict, VerdictMeaning>>
  readonly steps: Readonly<Record<string, (step: Step) => string>>
}

/** Labels of the steps of a mode, and of the turns and tool calls within them. */
export const withTools = (labels: ModeDescription<string>["steps"]): ModeDescription<string>["steps"] => {
  const inTurns = Record.map(
    labels,
    (label) => (step: Step) => `${label(step)}${step.turn === undefined ? "" : `, turn ${step.turn}`}`,
  )
  return {
    ...inTurns,
    tools: ({ server }) => `Tools of MCP server ${server}`,
    tool: ({ call, within = "", ...step }) =>
      `${inTurns[within]?.({ ...step, kind: within }) ?? within}: tool call ${call}`,
  }
}

export const Fraction = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))

export const note = Schema.optionalKey(
  Schema.String.annotate({ description: "Anything unusual about how the result came about." }),
)

export const VERDICT = { description: "docs/explanation/modes.md says what each verdict means." }
export const CONFIDENCE = {
  description: "Probability that the answer is right; `null` if there is no usable estimate.",
}

export const INCONCLUSIVE: VerdictMeaning = {
  tone: "warn",
  meaning: "The models did not settle it. Treat the answer as unchecked.",
}

/** The values of a mode's option, as a schema. */
export const optionSchema = ({ maximum, minimum }: ModeOption) =>
  Schema.Int.check(Schema.isBetween({ minimum, maximum }))
