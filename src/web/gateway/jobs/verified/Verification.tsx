import type { VerifiedResult } from "../../../../domain/jobs/modes/verified.ts"
import { Folded } from "../../../shared/Folded.tsx"
import { fraction, plural } from "../../../shared/format.ts"
import { agreementBadge, Badge } from "../badges.tsx"

/** The different answers with probabilities and models, and the check questions. */
export const Verification = ({ result }: { readonly result: VerifiedResult }) => (
  <section class="card stack arriving" aria-labelledby="checks-title">
    <h3 id="checks-title">Verification</h3>
    <div class="stack tight">
      <h4>
        {plural(result.answers.length, "different answer")}: agreement {fraction(result.agreement)}
        {result.independent ? "" : ", of one model only"}
      </h4>
      <ol class="moments">
        {result.answers.map(({ answer, probability, said_by }, i) => (
          // Answers have no id.
          <li key={i} class="moment">
            <blockquote>
              <Folded text={answer} />
            </blockquote>
            <p class="small">
              probability {fraction(probability)}, given by{" "}
              {said_by.map(({ model, provider, role }) => `${model} at ${provider}${JUDGE[role]}`).join(", ")}
            </p>
            {said_by.map(
              ({ answer, model }, j) =>
                answer !== undefined && (
                  <div key={j}>
                    <p class="small">in the words of {model}:</p>
                    <blockquote>
                      <Folded text={answer} />
                    </blockquote>
                  </div>
                ),
            )}
          </li>
        ))}
      </ol>
    </div>
    {result.checks.length > 0 && (
      <ol class="moments">
        {result.checks.map(({ consistent, executed, independent_answer, note, question }) => (
          <li key={question} class="moment">
            <h4 class="plain">{question}</h4>
            <blockquote class="plain">{independent_answer === "" ? "No answer." : independent_answer}</blockquote>
            <p class="row">
              <Badge look={agreementBadge(consistent)} what="Check" />
              {executed === true && <span class="small">executed with a tool</span>}
              <span class="small plain">{note}</span>
            </p>
          </li>
        ))}
      </ol>
    )}
    {result.checks.length === 0 && <p class="muted">No check questions were needed, or none could be made.</p>}
  </section>
)

const JUDGE = { proposer: "", judge: " as judge" } as const
