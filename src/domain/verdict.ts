/** What the two modes conclude. `confidence` and `agreement` are what they are called, and uncalibrated. */
import { Schema } from "effect"

/** What a reader has to know about how the result came about, if anything is out of the ordinary. */
const note = Schema.optionalKey(Schema.String)

const Fraction = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))

export const Severity = Schema.Literals(["minor", "major", "critical"])
export type Severity = typeof Severity.Type

/** Something a critic holds against an answer. */
export const Objection = Schema.Struct({
  claim: Schema.String,
  severity: Severity,
  status: Schema.Literals(["resolved", "open"]),
})
export type Objection = typeof Objection.Type

/** Who took part. `independent`: another provider or model than the proposer's. */
export const Participant = Schema.Struct({
  role: Schema.Literals(["proposer", "critic", "judge"]),
  provider: Schema.String,
  model: Schema.String,
  independent: Schema.Boolean,
})
export type Participant = typeof Participant.Type

/** One exchange: what the critic objected to, and what the proposer did about it. */
export const Round = Schema.Struct({
  round: Schema.Int,
  objections: Schema.Array(Objection),
  /** `accepted`: there was no material objection, so the answer stayed and the rounds ended. */
  response: Schema.Literals(["revised", "rebutted", "accepted", "inconclusive"]),
})
export type Round = typeof Round.Type

export const AdversarialResult = Schema.Struct({
  answer: Schema.String,
  verdict: Schema.Literals(["upheld", "revised", "rejected", "inconclusive"]),
  confidence: Schema.NullOr(Fraction),
  objections: Schema.Array(Objection),
  rounds: Schema.Array(Round),
  participants: Schema.Array(Participant),
  note,
})
export type AdversarialResult = typeof AdversarialResult.Type

/** A question whose answer would expose an error in the draft. `consistent` is `null` when it could not be decided. */
export const Check = Schema.Struct({
  question: Schema.String,
  independent_answer: Schema.String,
  consistent: Schema.NullOr(Schema.Boolean),
  note: Schema.String,
})
export type Check = typeof Check.Type

/** One more answer to the same task. `agrees` is `null` when it could not be decided. */
export const Sample = Schema.Struct({ answer_digest: Schema.String, agrees: Schema.NullOr(Schema.Boolean) })
export type Sample = typeof Sample.Type

export const VerifiedResult = Schema.Struct({
  answer: Schema.String,
  verdict: Schema.Literals(["verified", "refuted", "inconclusive"]),
  agreement: Fraction,
  checks: Schema.Array(Check),
  samples: Schema.Array(Sample),
  note,
})
export type VerifiedResult = typeof VerifiedResult.Type

/** The job's `mode` says which one it is. */
export const JobResult = Schema.Union([AdversarialResult, VerifiedResult])
export type JobResult = typeof JobResult.Type
