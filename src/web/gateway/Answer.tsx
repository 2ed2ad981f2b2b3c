import type { JobResult } from "../../domain/verdict.ts"
import { fraction } from "./format.ts"
import { Badge } from "./parts.tsx"
import { MEANING, VERDICT } from "./status.ts"

/** The final answer, and how far the models stand behind it. */
export const Answer = ({ result }: { readonly result: JobResult }) => {
  const measure =
    "confidence" in result
      ? { name: "The judge's confidence", value: fraction(result.confidence) }
      : { name: "Agreement of the samples", value: fraction(result.agreement) }
  return (
    <section class="card stack arriving" aria-labelledby="answer-title">
      <div class="view-head">
        <h3 id="answer-title">Answer</h3>
        <Badge look={VERDICT[result.verdict]} what="Verdict" />
      </div>
      <p class="plain final">{result.answer}</p>
      <p class="small muted">
        {MEANING[result.verdict]} {measure.name}: <strong>{measure.value}</strong> (uncalibrated).
      </p>
      {result.note !== undefined && <p class="note warn small">{result.note}</p>}
    </section>
  )
}
