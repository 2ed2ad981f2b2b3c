/** What the steps of a job mean, and where each of them lies in its time. */
import type { Step } from "../../../client/GatewayJobs.ts"

export interface StepName {
  /** What the step does, without its number. */
  readonly kind: string
  /** The round, sample or question; 0 for steps that there is one of. */
  readonly number: number
  /** The target of a cascade, from 1. */
  readonly tier: number
  /** Whether it asks again for an answer that could not be read. */
  readonly repair: boolean
}

const NAME = /^([a-z]+)(?:-(\d+))?(?:-tier-(\d+))?(-repair)?$/

export const parseStep = (name: string): StepName => {
  const [, kind = name, number = "0", tier = "1", repair] = NAME.exec(name) ?? []
  return { kind, number: Number(number), tier: Number(tier), repair: repair !== undefined }
}

const LABELS: Readonly<Record<string, (n: number) => string>> = {
  propose: () => "Proposal",
  critique: (n) => `Round ${n}: critique`,
  respond: (n) => `Round ${n}: response`,
  judge: () => "Judgement",
  draft: () => "Draft",
  sample: (n) => `Sample ${n}`,
  compare: () => "Comparison of the samples",
  questions: () => "Questions",
  answer: (n) => `Independent answer ${n}`,
  reconcile: () => "Reconciliation",
  correct: () => "Correction",
}

/** A step's name for people; one that is not known here stays as it is. */
export const labelOf = (name: string): string => {
  const { kind, number, repair, tier } = parseStep(name)
  const label = LABELS[kind]
  if (label === undefined) return name
  return `${label(number)}${tier > 1 ? `, target ${tier}` : ""}${repair ? ", asked again" : ""}`
}

/** How a step ended, in a sentence. */
export const endOf = ({ name, status }: Pick<Step, "name" | "status">): string =>
  `${labelOf(name)}: ${status === "failed" ? "failed" : "done"}.`

/** Where each step lies between the first one's start and `end`: offset and length as parts of 1. */
export const timeline = (
  steps: ReadonlyArray<Pick<Step, "started_at" | "finished_at">>,
): ReadonlyArray<{ readonly offset: number; readonly length: number }> => {
  const starts = steps.map((step) => Date.parse(step.started_at))
  const ends = steps.map((step) => Date.parse(step.finished_at))
  const first = Math.min(...starts)
  const whole = Math.max(...ends) - first
  return steps.map((_, i) => {
    const start = starts[i] ?? first
    if (whole <= 0) return { offset: 0, length: 1 }
    return { offset: (start - first) / whole, length: ((ends[i] ?? start) - start) / whole }
  })
}
