/** The modes: how a job arrives at its answer. Pages, forms and help take everything about a built-in one from its row. */
import { Record, Schema } from "effect"
import { AdversarialResult, adversarial, Rounds } from "./modes/adversarial.ts"
import { DirectResult, direct, OutputSchema, Turns } from "./modes/direct.ts"
import { Effort, type ModeDescription, type VerdictMeaning } from "./modes/description.ts"
import { OwnResult } from "./modes/own.ts"
import { Samples, VerifiedResult, verified } from "./modes/verified.ts"
import type { Step } from "./step.ts"

export const MODES = { adversarial, verified, direct } as const

export const BuiltInMode = Schema.Literals(Record.keys(MODES))
export type BuiltInMode = typeof BuiltInMode.Type

export const isBuiltIn = Schema.is(BuiltInMode)

export const MAX_MODE_NAME = 32

/** A built-in mode, or one that a program defines which embeds the gateway. */
export const Mode = Schema.String.check(
  Schema.isMaxLength(MAX_MODE_NAME),
  Schema.isPattern(/^[a-z][a-z0-9-]*$/, { expected: "the name of a mode" }),
).annotate({
  description: `${BuiltInMode.literals.join(", ")}, or a mode of the operator's program.`,
  examples: [...BuiltInMode.literals],
})
export type Mode = typeof Mode.Type

/** The row of a mode; `undefined` if it is not built in. */
export const modeOf = (mode: Mode): ModeDescription<string> | undefined => (isBuiltIn(mode) ? MODES[mode] : undefined)

/** The member `mode` tells the results apart. */
export const JobResult = Schema.Union([AdversarialResult, VerifiedResult, DirectResult, OwnResult])
export type JobResult = typeof JobResult.Type

/** `effort` sets how much a job may take; `rounds`, `samples` and `turns` override it, each in its mode. */
export const JobOptions = Schema.Struct({
  effort: Schema.optionalKey(
    Effort.annotate({ description: "How much the job may take: more samples, more rounds, a later stop." }),
  ),
  rounds: Schema.optionalKey(
    Rounds.annotate({ description: "Maximum rounds of debate in the adversarial mode; overrides the effort." }),
  ),
  samples: Schema.optionalKey(
    Samples.annotate({ description: "Maximum independent samples in the verified mode; overrides the effort." }),
  ),
  on_budget: Schema.optionalKey(
    Schema.Literals(["fail", "wait"]).annotate({
      description:
        "What the job does when a budget has too little left that renews: fail (default), or wait for the renewal.",
    }),
  ),
  output_schema: Schema.optionalKey(
    OutputSchema.annotate({
      description: "JSON Schema of an object: the answer of the direct mode is checked against it.",
    }),
  ),
  turns: Schema.optionalKey(
    Turns.annotate({ description: "Maximum calls of the model in the direct mode; overrides the effort." }),
  ),
})
export type JobOptions = typeof JobOptions.Type

export const verdictMeaning = ({ mode, verdict }: Pick<JobResult, "mode" | "verdict">): VerdictMeaning =>
  modeOf(mode)?.verdicts[verdict] ?? { tone: "warn", meaning: "A program of the operator gave this answer." }

/** A step's name for people; its kind if the mode has no name for it. */
export const stepLabel = (mode: Mode, step: Step): string => {
  const label = modeOf(mode)?.steps[step.kind]?.(step) ?? step.kind
  return `${label}${step.tier === undefined ? "" : `, target ${step.tier}`}${step.repair ? ", asked again" : ""}`
}
