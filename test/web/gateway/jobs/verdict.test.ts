import { assert, it } from "@effect/vitest"
import type { VerifiedResult } from "../../../../src/domain/jobs/modes/verified.ts"
import { comparedFor } from "../../../../src/web/gateway/jobs/verdict.ts"

const sentenceFor = (...consistent: ReadonlyArray<boolean | null>) => {
  const result: VerifiedResult = {
    mode: "verified",
    answer: "42",
    verdict: "corrected",
    confidence: 0.5,
    independent: true,
    agreement: 1,
    answers: [
      { answer: "42", probability: 0.5, said_by: [{ role: "proposer", provider: "provider1", model: "small" }] },
    ],
    checks: consistent.map((consistent, i) => ({
      question: `question ${i + 1}`,
      independent_answer: "",
      consistent,
      note: "",
    })),
  }
  return comparedFor(result)
}

it("a verdict's sentence counts undecided check questions apart from those that disagree", () => {
  const compared = "1 answer of 1 model compared; 1 say this"
  assert.strictEqual(sentenceFor(), `${compared}.`)
  assert.strictEqual(sentenceFor(true, false), `${compared}. 1 of 2 check questions agree with it.`)
  assert.strictEqual(sentenceFor(true, null), `${compared}. 1 of 2 check questions agree with it, 1 undecided.`)
  assert.strictEqual(sentenceFor(null, null), `${compared}. 2 check questions, all undecided.`)
})
