/** Public part of the verified mode: answers are compared until it is clear enough which is right. */
import { Schema } from "effect"
import {
  CONFIDENCE,
  Fraction,
  INCONCLUSIVE,
  type ModeDescription,
  note,
  optionSchema,
  VERDICT,
  withTools,
} from "./description.ts"

/** Minimum probability of a `verified` answer. On recorded questions, at least this share of such answers was right. */
export const SURE = 0.85
/** The probability above which an answer replaces the draft. */
export const MORE_LIKELY_THAN_NOT = 0.5

/** A model that gave an answer, or chose it as a judge. */
export const Speaker = Schema.Struct({
  role: Schema.Literals(["proposer", "judge"]),
  provider: Schema.String,
  model: Schema.String,
  answer: Schema.optionalKey(
    Schema.String.annotate({ description: "This model's wording, if it differs from the candidate's." }),
  ),
})
export type Speaker = typeof Speaker.Type

/** An answer that was given, and the models that support it. */
export const Candidate = Schema.Struct({
  answer: Schema.String,
  probability: Fraction.annotate({ description: "Probability that this is the right answer." }),
  said_by: Schema.Array(Speaker),
})
export type Candidate = typeof Candidate.Type

/** A question whose answer tells the candidate answers apart. */
export const AnswerCheck = Schema.Struct({
  question: Schema.String,
  independent_answer: Schema.String.annotate({ description: "The answer of a model that had not seen the draft." }),
  consistent: Schema.NullOr(Schema.Boolean).annotate({
    description: "Whether it agrees with the final answer; `null` if that was not decided.",
  }),
  note: Schema.String,
  executed: Schema.optionalKey(
    Schema.Literal(true).annotate({ description: "The independent answer rests on a tool call that succeeded." }),
  ),
})
export type AnswerCheck = typeof AnswerCheck.Type

const Verdict = Schema.Literals(["verified", "corrected", "refuted", "inconclusive"])

export const VerifiedResult = Schema.Struct({
  mode: Schema.Literal("verified"),
  answer: Schema.String,
  verdict: Verdict.annotate(VERDICT),
  confidence: Schema.NullOr(Fraction).annotate({
    description: `${CONFIDENCE.description} Executed checks give none.`,
  }),
  independent: Schema.Boolean.annotate({
    description:
      "Whether at least two models gave or chose the answer, or a model other than its author found all others wrong or executed the check that decided. Otherwise the best verdict is `inconclusive`.",
  }),
  agreement: Fraction.annotate({
    description: "Share of all answers, refusals included, that are the same as this one.",
  }),
  answers: Schema.Array(Candidate).annotate({ description: "All answers that were given; the first is the draft." }),
  checks: Schema.Array(AnswerCheck).annotate({ description: "The questions that tell the answers apart." }),
  note,
}).annotate({ identifier: "VerifiedResult" })
export type VerifiedResult = typeof VerifiedResult.Type

export const verified = {
  label: "Verified",
  hint: "Several models answer until it is clear enough; where they differ, questions decide.",
  mayAct: false,
  option: { name: "samples", label: "Independent samples, at most", unit: "sample", minimum: 1, maximum: 5 },
  depth: { low: 2, medium: 3, high: 5 },
  verdicts: {
    verified: {
      tone: "good",
      meaning: "Enough answers say the same, of two models or more, or an executed check fits only this one.",
    },
    corrected: { tone: "warn", meaning: "The first draft was outvoted or found wrong; this is the better answer." },
    refuted: { tone: "bad", meaning: "The draft was found wrong, and nothing better is sure. Do not rely on it." },
    inconclusive: INCONCLUSIVE,
  },
  steps: withTools({
    draft: () => "Draft",
    sample: ({ sample }) => `Sample ${sample}`,
    compare: ({ sample }) => (sample === undefined ? "Comparison of the correction" : `Comparison of sample ${sample}`),
    questions: () => "Questions",
    answer: ({ question }) => `Independent answer ${question}`,
    reconcile: ({ order }) => (order === undefined ? "Reconciliation" : "Reconciliation, in the opposite order"),
    correct: () => "Correction",
  }),
} as const satisfies ModeDescription<typeof Verdict.Type>

export const Samples = optionSchema(verified.option)
