/** Identifies a step of a job: its kind, and which one of that kind it is. */
import { Schema, Struct } from "effect"
import { withoutUndefined } from "../json/withoutUndefined.ts"

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))

/** Every number counts from 1 and is absent where there is only one of its kind. */
const fields = {
  kind: Schema.NonEmptyString.annotate({ description: "A kind of step of the mode, such as `critique` or `sample`." }),
  round: Schema.optionalKey(Count),
  sample: Schema.optionalKey(Count),
  question: Schema.optionalKey(Count),
  within: Schema.optionalKey(
    Schema.NonEmptyString.annotate({
      description: "What the tool call is for, such as `draft`; absent in the direct mode.",
    }),
  ),
  turn: Schema.optionalKey(Count.annotate({ description: "Which call of a model that may call tools." })),
  call: Schema.optionalKey(Count.annotate({ description: "Which tool call of the turn." })),
  server: Schema.optionalKey(Count.annotate({ description: "Which MCP server of the agent." })),
  order: Schema.optionalKey(
    Count.annotate({ description: "2: the same question again, with its material in the opposite order." }),
  ),
  tier: Schema.optionalKey(Count.annotate({ description: "The target of a cascade, from 2." })),
  repair: Schema.optionalKey(
    Schema.Literal(true).annotate({ description: "Asks again because the first answer could not be read." }),
  ),
}
export const Step = Schema.Struct(fields)
export type Step = typeof Step.Type

/** The members that identify a step. */
export const stepOf = (step: Step): Step => Struct.pick(step, Struct.keys(fields))

const NAMED = ["within", "round", "sample", "question", "turn", "call", "server"] as const

/** Name under which a step's outcome is stored: unique within a run and the same in every run. Do not parse it. */
export const stepName = (step: Step): string =>
  [
    step.kind,
    ...NAMED.flatMap((member) => step[member] ?? []),
    ...(step.order === undefined ? [] : ["order", step.order]),
    ...(step.tier === undefined ? [] : ["tier", step.tier]),
    ...(step.repair === undefined ? [] : ["repair"]),
  ].join("-")

/** The step on this tier of a cascade, counted from 0. The first tier is not recorded. */
export const atTier = (tier: number, step: Step): Step => ({
  ...step,
  ...withoutUndefined({ tier: tier === 0 ? undefined : tier + 1 }),
})
