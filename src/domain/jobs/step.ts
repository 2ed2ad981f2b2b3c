/** Steps of jobs, as data: what a step is for and which one of its kind it is. */
import { Schema } from "effect"
import { withoutUndefined } from "../json/withoutUndefined.ts"

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))

/** Every number counts from 1, and is absent where there is only one of its kind. */
const fields = {
  /** What it does, in the words of its mode: `critique`, `sample`. */
  kind: Schema.NonEmptyString,
  round: Schema.optionalKey(Count),
  sample: Schema.optionalKey(Count),
  question: Schema.optionalKey(Count),
  /** 2: the same was asked again with its material in the opposite order. */
  order: Schema.optionalKey(Count),
  /** The target of a cascade. */
  tier: Schema.optionalKey(Count),
  /** It asks once more for what could not be read. */
  repair: Schema.optionalKey(Schema.Literal(true)),
}
export const Step = Schema.Struct(fields)
export type Step = typeof Step.Type

const NAMED = ["round", "sample", "question"] as const

/**
 * The name that is unique within one run of a job and the same in every run: under it a step's outcome is stored. It is
 * for looking up and for logs; whoever wants to know what a step is reads its members.
 */
export const stepName = (step: Step): string =>
  [
    step.kind,
    ...NAMED.flatMap((member) => step[member] ?? []),
    ...(step.order === undefined ? [] : ["order", step.order]),
    ...(step.tier === undefined ? [] : ["tier", step.tier]),
    ...(step.repair === undefined ? [] : ["repair"]),
  ].join("-")

/** The step on this tier of a cascade, counted from 0; the first needs no telling. */
export const atTier = (tier: number, step: Step): Step => ({
  ...step,
  ...withoutUndefined({ tier: tier === 0 ? undefined : tier + 1 }),
})
