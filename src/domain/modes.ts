/**
 * What critics and judges are asked to return. Each schema is sent along as JSON Schema and decodes what comes back, so
 * that a verdict is one of these values or none at all.
 */
import { Schema } from "effect"
import { Severity } from "./verdict.ts"

/** Longest lists of findings that are taken from one answer. Several rounds together may come to more. */
const MAX_FINDINGS = 20

const Index = Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)).annotate({
  description: "the number it is listed under",
})

export const Critique = Schema.Struct({
  resolved: Schema.Array(Index).annotate({
    description: "numbers of the earlier objections that the answer now meets or that were refuted",
  }),
  objections: Schema.Array(
    Schema.Struct({
      claim: Schema.NonEmptyString.annotate({ description: "what is wrong and why, in one or two sentences" }),
      severity: Severity.annotate({
        description: "critical: the answer is wrong; major: a part of it is wrong or missing; minor: style or detail",
      }),
    }),
  )
    .check(Schema.isMaxLength(MAX_FINDINGS))
    .annotate({ description: "new objections; empty if there are none" }),
})
export type Critique = typeof Critique.Type

export const Response = Schema.Struct({
  action: Schema.Literals(["revise", "rebut"]),
  answer: Schema.NonEmptyString.annotate({ description: "the whole answer, revised or unchanged" }),
  rebuttal: Schema.String.annotate({ description: "why the objections do not hold; empty if the answer is revised" }),
})
export type Response = typeof Response.Type

export const Judgement = Schema.Struct({
  verdict: Schema.Literals(["sound", "flawed", "undecided"]),
  resolved: Schema.Array(Index).annotate({
    description: "numbers of the open objections that the answer meets or that do not hold",
  }),
  confidence: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })).annotate({
    description: "how sure you are of the verdict, from 0 to 1",
  }),
})
export type Judgement = typeof Judgement.Type

export const Comparison = Schema.Struct({
  samples: Schema.Array(Schema.Struct({ sample: Index, agrees: Schema.Boolean }))
    .check(Schema.isMaxLength(MAX_FINDINGS))
    .annotate({ description: "one entry per sample: whether it comes to the same conclusion as the draft" }),
})
export type Comparison = typeof Comparison.Type

/** Questions that are asked at most, each of them one more call. */
export const MAX_QUESTIONS = 5

export const Questions = Schema.Struct({
  questions: Schema.Array(Schema.NonEmptyString)
    .check(Schema.isMinLength(1), Schema.isMaxLength(MAX_QUESTIONS))
    .annotate({ description: `1 to ${MAX_QUESTIONS} questions, each answerable on its own` }),
})
export type Questions = typeof Questions.Type

export const Reconciliation = Schema.Struct({
  checks: Schema.Array(
    Schema.Struct({
      question: Index,
      consistent: Schema.NullOr(Schema.Boolean).annotate({
        description: "whether draft and independent answer agree; null if that cannot be told",
      }),
      note: Schema.String.annotate({ description: "what agrees or differs, in one sentence" }),
    }),
  )
    .check(Schema.isMaxLength(MAX_FINDINGS))
    .annotate({ description: "one entry per question" }),
})
export type Reconciliation = typeof Reconciliation.Type
