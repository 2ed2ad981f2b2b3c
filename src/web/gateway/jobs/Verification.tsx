import type { VerifiedResult } from "../../../domain/verdict.ts"
import { fraction, plural } from "../../shared/format.ts"
import { agreementLook, Badge } from "./looks.tsx"

/** What the draft was checked against: other answers to the same task, and answers by somebody who had not seen it. */
export const Verification = ({ result }: { readonly result: VerifiedResult }) => (
  <section class="card stack arriving" aria-labelledby="checks-title">
    <h3 id="checks-title">Verification</h3>
    <div class="stack tight">
      <h4>
        {plural(result.samples.length, "independent sample")}: agreement {fraction(result.agreement)}{" "}
        <span class="muted">(uncalibrated)</span>
      </h4>
      <ul class="row">
        {result.samples.map(({ agrees }, i) => (
          // Samples have no identity but their place.
          <li key={i}>
            <Badge look={agreementLook(agrees, { yes: "agrees", no: "differs" })} what={`Sample ${i + 1}`} />
          </li>
        ))}
      </ul>
    </div>
    <ol class="moments">
      {result.checks.map(({ consistent, independent_answer, note, question }) => (
        <li key={question} class="moment">
          <h4 class="plain">{question}</h4>
          <blockquote class="plain">{independent_answer === "" ? "No answer." : independent_answer}</blockquote>
          <p class="row">
            <Badge look={agreementLook(consistent, { yes: "consistent", no: "inconsistent" })} what="Check" />
            <span class="small plain">{note}</span>
          </p>
        </li>
      ))}
    </ol>
    {result.checks.length === 0 && <p class="muted">No questions could be made, so nothing was checked by them.</p>}
  </section>
)
