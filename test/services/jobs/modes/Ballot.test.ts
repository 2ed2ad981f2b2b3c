import { assert, describe, it } from "@effect/vitest"
import type { ModelAnswer } from "../../../../src/services/jobs/modes/engine/ModelAnswer.ts"
import { Ballot } from "../../../../src/services/jobs/modes/verified/Ballot.ts"

const said = (model: string, text: string): ModelAnswer => ({
  text,
  refused: false,
  cut: false,
  target: { provider: "provider1", model },
  model,
  independent: true,
  escalateBelow: null,
})

/** A ballot over models that are right this often, and in nothing alike. */
const ballotOf = (accuracies: Readonly<Record<string, number>>) =>
  new Ballot({
    models: Object.fromEntries(
      Object.entries(accuracies).map(([model, accuracy]) => [model, { accuracy, difficulty: 0.1 }]),
    ),
    sameWrong: {},
    others: { accuracy: 0.8, difficulty: 0.1, sameWrong: 0.1 },
    judges: {},
  })

describe("the answers to a task", () => {
  it("are found by every wording that a model judged to be the same", () => {
    const ballot = ballotOf({})
    ballot.add(said("a", "42"))
    ballot.add(said("b", "forty-two"), 0)
    assert.strictEqual(ballot.find("forty-two").group, 0)
    // It certainly differs from one of the wordings.
    assert.deepStrictEqual(ballot.find("43"), { group: undefined, candidates: [] })
    assert.deepStrictEqual(ballot.find("forty-three"), { group: undefined, candidates: [0] })
  })

  it("list the targets that were asked most often, with or without an answer", () => {
    const ballot = ballotOf({})
    ballot.add(said("a", "42"))
    ballot.abstain(said("b", ""))
    ballot.abstain(said("b", ""))
    assert.deepStrictEqual(new Set(ballot.mostAsked.map(({ model }) => model)), new Set(["b"]))
  })

  it("name each target behind an answer once, judges included", () => {
    const ballot = ballotOf({})
    ballot.add(said("a", "42"))
    ballot.add(said("a", "42"), 0)
    ballot.add(said("b", "41"))
    ballot.choose(said("c", ""), 0)
    assert.deepStrictEqual(
      ballot.behind(0).map(({ model }) => model),
      ["a", "c"],
    )
    assert.strictEqual(ballot.agreement(0), 3 / 4)
  })

  it.each([
    { accuracy: 0.795, group: 1 },
    { accuracy: 0.6, group: 0 },
  ])(
    "of models with accuracies 0.8 and $accuracy are led by answer $group if a judge without a vote chose answer 1",
    ({ accuracy, group }) => {
      const ballot = ballotOf({ a: 0.8, b: accuracy })
      ballot.add(said("a", "42"))
      ballot.add(said("b", "41"))
      ballot.choose(said("a", ""), 1)
      assert.strictEqual(ballot.leader?.group, group)
    },
  )

  it("can be settled by one more answer that agrees with the better model alone", () => {
    const ballot = ballotOf({ a: 0.9, b: 0.5 })
    ballot.add(said("a", "42"))
    ballot.add(said("b", "41"))
    assert.isTrue(ballot.couldStill(1, 0.9).settle)
    assert.isFalse(ballot.couldStill(1, 0.999).settle)
  })
})
