import { assert, describe, it } from "@effect/vitest"
import type { Measurements } from "../../../../src/services/jobs/modes/engine/errorModel.ts"
import { inverseNormal, normal, posterior } from "../../../../src/services/jobs/modes/engine/posterior.ts"

const measured = (members: Partial<Measurements> = {}): Measurements => ({
  models: {},
  sameWrong: {},
  others: { accuracy: 0.8, difficulty: 0.7, sameWrong: 0.7 },
  judges: {},
  ...members,
})
/** Parses votes: `a0 b1` is two models with two answers. */
const of = (votes: string, given = measured()) =>
  posterior(
    given,
    votes.split(" ").map((vote) => ({
      target: { provider: "provider1", model: vote.slice(0, 1) },
      group: Number(vote.slice(1)),
    })),
  )
const first = (votes: string, given?: Measurements) => of(votes, given)[0] ?? 0

describe("the posterior", () => {
  it("of one answer is its model's accuracy", () => assert.closeTo(first("a0"), 0.8, 0.01))

  it("sums to less than 1, because all answers may be wrong", () => {
    for (const votes of ["a0 b0", "a0 b1 c0", "a0 b1 c2 d3", "a0 a1 b1 a0"]) {
      const sum = of(votes).reduce((sum, each) => sum + each, 0)
      assert.isAbove(sum, 0)
      assert.isBelow(sum, 1)
    }
    assert.deepStrictEqual(of("a0").length, 1)
  })

  it("grows with agreeing models, and less if their errors correlate", () => {
    assert.isAbove(first("a0 b0"), first("a0"))
    assert.isAbove(first("a0 b0 c0"), first("a0 b0"))
    const alike = measured({ sameWrong: { "a b": 0.99 } })
    const apart = measured({ sameWrong: { "a b": 0.05 } })
    assert.isAbove(first("a0 b0", apart), first("a0 b0", alike))
  })

  it("grows less with a model that repeats itself than with another one", () => {
    assert.isAbove(first("a0 a0"), first("a0"))
    assert.isAbove(first("a0 b0"), first("a0 a0"))
    assert.isAbove(first("a0 b0 c1"), first("a0 a0 c1"))
  })

  it("believes the better model where two differ", () => {
    const known = measured({
      models: { a: { accuracy: 0.9, difficulty: 0.7 }, b: { accuracy: 0.6, difficulty: 0.7 } },
    })
    const [a = 0, b = 0] = of("a0 b1", known)
    assert.isAbove(a, b)
    const [even = 0, other = 1] = of("a0 b1")
    assert.closeTo(even, other, 1e-9)
  })

  it("uses a correct normal distribution", () => {
    for (const [x, p] of [
      [0, 0.5],
      [1.96, 0.975],
      [-1.2816, 0.1],
    ] as const) {
      assert.closeTo(normal(x), p, 1e-4)
      assert.closeTo(inverseNormal(p), x, 1e-3)
    }
  })
})
