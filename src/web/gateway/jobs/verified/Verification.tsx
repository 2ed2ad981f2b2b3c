import type { VerifiedResult } from "../../../../domain/jobs/modes/verified.ts"
import { excerpt, fraction, plural } from "../../../shared/format.ts"
import { agreementBadge, Badge } from "../badges.tsx"

/** A text in full, folded where it is long. */
const Whole = ({ text }: { readonly text: string }) =>
  text.length <= EXCERPT ? (
    <blockquote class="plain">{text}</blockquote>
  ) : (
    <details>
      <summary class="excerpt">{excerpt(text, EXCERPT)}</summary>
      <blockquote class="plain">{text}</blockquote>
    </details>
  )

/** Who said what, how probable each answer is, and the questions that decided where they differ. */
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
          // Answers have no identity but their place.
          <li key={i} class="moment">
            <Whole text={answer} />
            <p class="small">
              probability {fraction(probability)}, said by{" "}
              {said_by.map(({ model, provider, role }) => `${model} at ${provider}${JUDGE[role]}`).join(", ")}
            </p>
            {said_by.map(
              ({ answer, model }, j) =>
                answer !== undefined && (
                  <div key={j}>
                    <p class="small">in the words of {model}:</p>
                    <Whole text={answer} />
                  </div>
                ),
            )}
          </li>
        ))}
      </ol>
    </div>
    {result.checks.length > 0 && (
      <ol class="moments">
        {result.checks.map(({ consistent, independent_answer, note, question }) => (
          <li key={question} class="moment">
            <h4 class="plain">{question}</h4>
            <blockquote class="plain">{independent_answer === "" ? "No answer." : independent_answer}</blockquote>
            <p class="row">
              <Badge look={agreementBadge(consistent)} what="Check" />
              <span class="small plain">{note}</span>
            </p>
          </li>
        ))}
      </ol>
    )}
    {result.checks.length === 0 && <p class="muted">No questions were needed, or none could be made.</p>}
  </section>
)

/** Characters of an answer that are shown beside others before it is asked for. */
const EXCERPT = 300

const JUDGE = { proposer: "", judge: " as judge" } as const
