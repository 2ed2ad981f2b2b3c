import { assert, describe, it } from "@effect/vitest"
import { debateOf } from "../../../../src/web/gateway/jobs/adversarial/debate.ts"
import { step } from "./examples.ts"

describe("debateOf", () => {
  it("lists rounds from steps before there is a result", () => {
    const critique = step("critique", { round: 1, repair: true })
    const response = step("respond", { round: 1 })
    const second = step("critique", { round: 2 })
    const { judgement, proposal, rounds } = debateOf(
      [
        step("propose"),
        step("critique", { round: 1, status: "failed" }),
        step("critique", { round: 1 }),
        critique,
        response,
        second,
      ],
      undefined,
    )
    assert.deepStrictEqual(proposal, step("propose"))
    assert.isUndefined(judgement)
    assert.deepStrictEqual(rounds, [
      { round: 1, critique, response, objections: undefined, outcome: undefined },
      { round: 2, critique: second, response: undefined, objections: undefined, outcome: undefined },
    ])
  })

  it("returns the debate of the last target of a cascade", () => {
    const steps = [
      step("propose"),
      step("critique", { round: 1 }),
      step("critique", { round: 2 }),
      step("judge"),
      step("propose", { tier: 2 }),
    ]
    assert.deepStrictEqual(debateOf(steps, undefined), {
      proposal: step("propose", { tier: 2 }),
      rounds: [],
      judgement: undefined,
    })
  })

  it("takes objections from the result", () => {
    const objections = [
      { id: 1, round: 1, claim: "wrong", evidence: "", severity: "major", status: "open", replies: [] },
    ] as const
    const result = {
      mode: "adversarial",
      calibrated: false,
      answer: "",
      verdict: "inconclusive",
      confidence: null,
      independent: false,
      objections,
      rounds: [{ round: 1, response: "inconclusive" }],
      participants: [],
    } as const
    const [round] = debateOf([step("propose"), step("critique", { round: 1 })], result).rounds
    assert.deepInclude(round, { objections, outcome: "inconclusive", response: undefined })
  })
})
