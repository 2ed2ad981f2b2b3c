/** The adversarial mode, as callers see it: a debate that a judge decides. */
import { Schema } from "effect"
import { Fraction, INCONCLUSIVE, type ModeDescription, note, optionSchema } from "./description.ts"

export const Severity = Schema.Literals(["minor", "major", "critical"])
export type Severity = typeof Severity.Type

/** What the author answered to an objection in one round. */
export const Reply = Schema.Struct({
  round: Schema.Int,
  action: Schema.Literals(["revise", "rebut"]),
  text: Schema.String,
})
export type Reply = typeof Reply.Type

/** Something a critic holds against an answer. `id` stays the same over all rounds, `round` is when it was raised. */
export const Objection = Schema.Struct({
  id: Schema.Int,
  round: Schema.Int,
  claim: Schema.String,
  evidence: Schema.String,
  severity: Severity,
  status: Schema.Literals(["resolved", "open"]),
  replies: Schema.Array(Reply),
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

/**
 * How a round ended. `mixed`: some objections were accepted and others rebutted. `accepted`: no objection of weight was
 * left.
 */
export const Round = Schema.Struct({
  round: Schema.Int,
  response: Schema.Literals(["revised", "rebutted", "mixed", "accepted", "inconclusive"]),
})
export type Round = typeof Round.Type

const Verdict = Schema.Literals(["upheld", "revised", "rejected", "inconclusive"])

/**
 * `calibrated`: it was measured how often this judge is right when it reports such a confidence, and `confidence` is
 * that measurement. `independent`: another target than the author's judged the answer, or criticised it without being
 * contradicted; without that, no verdict is better than `inconclusive`.
 */
export const AdversarialResult = Schema.Struct({
  mode: Schema.Literal("adversarial"),
  answer: Schema.String,
  /** What was proposed first, where the answer is no longer that. */
  proposal: Schema.optionalKey(Schema.String),
  verdict: Verdict,
  confidence: Schema.NullOr(Fraction),
  independent: Schema.Boolean,
  calibrated: Schema.Boolean,
  objections: Schema.Array(Objection),
  rounds: Schema.Array(Round),
  participants: Schema.Array(Participant),
  note,
}).annotate({ identifier: "AdversarialResult" })
export type AdversarialResult = typeof AdversarialResult.Type

export const adversarial = {
  label: "Adversarial",
  hint: "A critic attacks the answer, it is revised or defended, a judge decides.",
  option: { name: "rounds", label: "Rounds of debate, at most", unit: "round", minimum: 1, maximum: 3 },
  depth: { low: 1, medium: 2, high: 3 },
  verdicts: {
    upheld: { tone: "good", meaning: "The proposal stood as it was: no objection of weight was left open." },
    revised: { tone: "good", meaning: "Objections changed the proposal; the judge calls the revised answer sound." },
    rejected: { tone: "bad", meaning: "The judge calls the answer flawed. Do not rely on it." },
    inconclusive: INCONCLUSIVE,
  },
  steps: {
    propose: () => "Proposal",
    critique: ({ round }) => `Round ${round}: critique`,
    respond: ({ round }) => `Round ${round}: response`,
    judge: ({ order }) => (order === undefined ? "Judgement" : "Judgement, the sides exchanged"),
  },
} as const satisfies ModeDescription<typeof Verdict.Type>

export const Rounds = optionSchema(adversarial.option)
