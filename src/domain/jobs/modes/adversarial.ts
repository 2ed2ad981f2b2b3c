/** Public part of the adversarial mode: a debate that a judge decides. */
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

export const Severity = Schema.Literals(["minor", "major", "critical"])
export type Severity = typeof Severity.Type

/** The author's answer to an objection in one round. */
export const Reply = Schema.Struct({
  round: Schema.Int,
  action: Schema.Literals(["revise", "rebut"]).annotate({ description: "Whether the answer was changed or defended." }),
  text: Schema.String,
})
export type Reply = typeof Reply.Type

export const Objection = Schema.Struct({
  id: Schema.Int.annotate({ description: "Stays the same over all rounds." }),
  round: Schema.Int.annotate({ description: "The round in which it was raised." }),
  claim: Schema.String,
  evidence: Schema.String,
  severity: Severity,
  status: Schema.Literals(["resolved", "open"]),
  replies: Schema.Array(Reply),
})
export type Objection = typeof Objection.Type

export const Participant = Schema.Struct({
  role: Schema.Literals(["proposer", "critic", "judge"]),
  provider: Schema.String,
  model: Schema.String,
  independent: Schema.Boolean.annotate({ description: "Whether provider or model differ from the proposer's." }),
})
export type Participant = typeof Participant.Type

export const Round = Schema.Struct({
  round: Schema.Int,
  response: Schema.Literals(["revised", "rebutted", "mixed", "accepted", "inconclusive"]).annotate({
    description:
      "`mixed`: some objections were met, others rebutted. `accepted`: no major or critical objection was left.",
  }),
})
export type Round = typeof Round.Type

const Verdict = Schema.Literals(["upheld", "revised", "rejected", "inconclusive"])

export const AdversarialResult = Schema.Struct({
  mode: Schema.Literal("adversarial"),
  answer: Schema.String,
  proposal: Schema.optionalKey(Schema.String.annotate({ description: "The first proposal, if the answer differs." })),
  verdict: Verdict.annotate(VERDICT),
  confidence: Schema.NullOr(Fraction).annotate(CONFIDENCE),
  independent: Schema.Boolean.annotate({
    description:
      "Whether a model other than the author's judged the answer, or criticised it without being contradicted. Otherwise the best verdict is `inconclusive`.",
  }),
  calibrated: Schema.Boolean.annotate({
    description:
      "Whether `confidence` follows from the measured rate at which this judge is right when it is as sure of its verdict.",
  }),
  objections: Schema.Array(Objection),
  rounds: Schema.Array(Round),
  participants: Schema.Array(Participant),
  note,
}).annotate({ identifier: "AdversarialResult" })
export type AdversarialResult = typeof AdversarialResult.Type

export const adversarial = {
  label: "Adversarial",
  hint: "A critic attacks the answer, it is revised or defended, a judge decides.",
  mayAct: false,
  option: { name: "rounds", label: "Rounds of debate, at most", unit: "round", minimum: 1, maximum: 3 },
  depth: { low: 1, medium: 2, high: 3 },
  verdicts: {
    upheld: { tone: "good", meaning: "The proposal stood as it was: no objection of weight was left open." },
    revised: { tone: "good", meaning: "Objections changed the proposal; the judge calls the revised answer sound." },
    rejected: { tone: "bad", meaning: "The judge calls the answer flawed. Do not rely on it." },
    inconclusive: INCONCLUSIVE,
  },
  steps: withTools({
    propose: () => "Proposal",
    critique: ({ round }) => `Round ${round}: critique`,
    respond: ({ round }) => `Round ${round}: response`,
    judge: ({ order }) => (order === undefined ? "Judgement" : "Judgement, the sides exchanged"),
  }),
} as const satisfies ModeDescription<typeof Verdict.Type>

export const Rounds = optionSchema(adversarial.option)
