/** The verified mode, as callers see it: answers are compared until it is clear enough which is right. */
import { Schema } from "effect"
import { Fraction, INCONCLUSIVE, type ModeDescription, note, optionSchema } from "./description.ts"

/**
 * The probability from which an answer is called `verified`: at least this share of such answers was right on recorded
 * questions.
 */
export const SURE = 0.85
/** The probability above which an answer replaces the draft. */
export const MORE_LIKELY_THAN_NOT = 0.5

/** Who gave an answer, or chose it as a judge. */
export const Speaker = Schema.Struct({
  role: Schema.Literals(["proposer", "judge"]),
  provider: Schema.String,
  model: Schema.String,
  /** Its words, where they are not those of the candidate. */
  answer: Schema.optionalKey(Schema.String),
})
export type Speaker = typeof Speaker.Type

/** One of the answers that were given, and who stands behind it. The first is the draft. */
export const Candidate = Schema.Struct({
  answer: Schema.String,
  probability: Fraction,
  said_by: Schema.Array(Speaker),
})
export type Candidate = typeof Candidate.Type

/** A question that tells the answers apart. `consistent`: with the final answer; `null` when that was not decided. */
export const Check = Schema.Struct({
  question: Schema.String,
  independent_answer: Schema.String,
  consistent: Schema.NullOr(Schema.Boolean),
  note: Schema.String,
})
export type Check = typeof Check.Type

const Verdict = Schema.Literals(["verified", "corrected", "refuted", "inconclusive"])

/**
 * `confidence` is the probability that the answer is right, or `null` if no answer counted. `agreement` is the share of
 * all answers, refusals included, that are the same as this one. `independent`: at least two targets gave or chose the
 * answer, or another than its author found all others wrong; without that, no verdict is better than `inconclusive`.
 */
export const VerifiedResult = Schema.Struct({
  mode: Schema.Literal("verified"),
  answer: Schema.String,
  verdict: Verdict,
  confidence: Schema.NullOr(Fraction),
  independent: Schema.Boolean,
  agreement: Fraction,
  answers: Schema.Array(Candidate),
  checks: Schema.Array(Check),
  note,
}).annotate({ identifier: "VerifiedResult" })
export type VerifiedResult = typeof VerifiedResult.Type

export const verified = {
  label: "Verified",
  hint: "Several models answer until it is clear enough; where they differ, questions decide.",
  option: { name: "samples", label: "Independent samples, at most", unit: "sample", minimum: 1, maximum: 5 },
  depth: { low: 2, medium: 3, high: 5 },
  verdicts: {
    verified: { tone: "good", meaning: "Enough answers say the same, of two models or more." },
    corrected: { tone: "good", meaning: "The first draft was outvoted or found wrong; this is the better answer." },
    refuted: { tone: "bad", meaning: "The draft was found wrong, and nothing better is sure. Do not rely on it." },
    inconclusive: INCONCLUSIVE,
  },
  steps: {
    draft: () => "Draft",
    sample: ({ sample }) => `Sample ${sample}`,
    compare: ({ sample }) => (sample === undefined ? "Comparison of the correction" : `Comparison of sample ${sample}`),
    questions: () => "Questions",
    answer: ({ question }) => `Independent answer ${question}`,
    reconcile: ({ order }) => (order === undefined ? "Reconciliation" : "Reconciliation, in the opposite order"),
    correct: () => "Correction",
  },
} as const satisfies ModeDescription<typeof Verdict.Type>

export const Samples = optionSchema(verified.option)
