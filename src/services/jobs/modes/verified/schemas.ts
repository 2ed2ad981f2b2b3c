/** Schemas of examiners' answers. Each is sent as JSON Schema and decodes the answer. */
import { Schema } from "effect"

const MAX_FINDINGS = 20
/** Most questions; each costs one more call. */
export const MAX_QUESTIONS = 3

const Index = Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)).annotate({
  description: "the number it is listed under",
})

export const Comparison = Schema.Struct({
  same_as: Schema.NullOr(Index).annotate({
    description: "the number of the earlier answer that comes to the same conclusion; null if none does",
  }),
})

export const Questions = Schema.Struct({
  questions: Schema.Array(Schema.NonEmptyString)
    .check(Schema.isMinLength(1), Schema.isMaxLength(MAX_QUESTIONS))
    .annotate({ description: `1 to ${MAX_QUESTIONS} questions, each answerable on its own` }),
})

export const Reconciliation = Schema.Struct({
  checks: Schema.Array(
    Schema.Struct({
      question: Index,
      fits: Schema.NullOr(Schema.Array(Index)).annotate({
        description: "numbers of the answers that fit what was found out; null if that is unclear",
      }),
      note: Schema.String.annotate({ description: "what agrees or differs, in one sentence" }),
    }),
  )
    .check(Schema.isMaxLength(MAX_FINDINGS))
    .annotate({ description: "one entry per question" }),
  right: Schema.NullOr(Index).annotate({
    description: "the number of the right answer; null if none of them is right",
  }),
})
export type Reconciliation = typeof Reconciliation.Type
