import { assert, describe, it } from "@effect/vitest"
import { debateOf } from "../../../../src/web/gateway/jobs/debate.ts"
import { step } from "./examples.ts"

describe("a debate", () => {
  it("shows its rounds from its steps, before there is a result", () => {
    const critique = step("critique-1-repair")
    const { judgement, proposal, rounds } = debateOf(
      [
        step("propose"),
        step("critique-1", { status: "failed" }),
        step("critique-1"),
        critique,
        step("respond-1"),
        step("critique-2"),
      ],
      undefined,
    )
    assert.strictEqual(proposal?.name, "propose")
    assert.isUndefined(judgement)
    assert.deepStrictEqual(
      rounds.map((round) => [round.round, round.critique?.name, round.response?.name, round.objections]),
      [
        [1, "critique-1-repair", "respond-1", undefined],
        [2, "critique-2", undefined, undefined],
      ],
    )
  })

  it("is that of the last target of a cascade", () => {
    const steps = [step("propose"), step("critique-1"), step("critique-2"), step("judge"), step("propose-tier-2")]
    assert.deepStrictEqual(debateOf(steps, undefined), {
      proposal: step("propose-tier-2"),
      rounds: [],
      judgement: undefined,
    })
  })

  it("knows from the result what was objected", () => {
    const objections = [{ claim: "wrong", severity: "major", status: "open" }] as const
    const result = {
      answer: "",
      verdict: "inconclusive",
      confidence: null,
      objections,
      rounds: [{ round: 1, objections, response: "inconclusive" }],
      participants: [],
    } as const
    const [round] = debateOf([step("propose"), step("critique-1")], result).rounds
    assert.deepInclude(round, { objections, outcome: "inconclusive", response: undefined })
  })
})
