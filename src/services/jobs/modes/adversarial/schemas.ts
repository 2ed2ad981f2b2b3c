/** Schemas of critics', authors' and judges' answers, sent as JSON Schema; each decodes its answer. */
import { Schema } from "effect"
import { Severity } from "../../../../domain/jobs/modes/adversarial.ts"
import { Fraction } from "../../../../domain/jobs/modes/description.ts"

/** Maximum number of findings per answer. All rounds together may have more. */
const MAX_FINDINGS = 20

const Id = Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)).annotate({ description: "the objection's number" })

export const Critique = Schema.Struct({
  resolved: Schema.Array(Id).annotate({
    description: "numbers of the earlier objections that the answer now meets or that were refuted",
  }),
  objections: Schema.Array(
    Schema.Struct({
      claim: Schema.NonEmptyString.annotate({ description: "what is wrong, in one or two sentences" }),
      evidence: Schema.String.annotate({
        description: "what shows it: the passage, a calculation, a counterexample, a source",
      }),
      severity: Severity.annotate({
        description: "critical: the answer is wrong; major: a part of it is wrong or missing; minor: style or detail",
      }),
    }),
  )
    .check(Schema.isMaxLength(MAX_FINDINGS))
    .annotate({ description: "new objections; empty if there are none" }),
})

export const DefenderResponse = Schema.Struct({
  replies: Schema.Array(
    Schema.Struct({
      objection: Id,
      action: Schema.Literals(["revise", "rebut"]),
      text: Schema.String.annotate({ description: "what was changed, or why the objection does not hold" }),
    }),
  ).annotate({ description: "one entry for every open objection" }),
  answer: Schema.NonEmptyString.annotate({ description: "the whole answer, revised or unchanged" }),
})
export type DefenderResponse = typeof DefenderResponse.Type

export const Judgement = Schema.Struct({
  verdict: Schema.Literals(["sound", "flawed", "undecided"]),
  resolved: Schema.Array(Id).annotate({
    description: "numbers of the open objections that the answer meets or that do not hold",
  }),
  confidence: Fraction.annotate({ description: "how sure you are of the verdict, from 0 to 1" }),
})
export type Judgement = typeof Judgement.Type
