/** Bodies on their way in and the memory that they share, met exactly and exceeded by one byte. */
import { assert, describe, it } from "@effect/vitest"
import { type HoldBody, makeBodyMemory } from "../../src/http/shared/BodyMemory.ts"

/** A body that comes in as one says, and whether it was made to let go. */
const begin = (hold: HoldBody, client: string) => {
  let overtaken = 0
  const body = hold(client, () => overtaken++)
  return {
    ...body,
    overtaken: () => {
      assert.isAtMost(overtaken, 1)
      return overtaken === 1
    },
  }
}

const overtakenOf = (bodies: ReadonlyArray<ReturnType<typeof begin>>) => bodies.map(({ overtaken }) => overtaken())

describe("the memory of bodies", () => {
  it("may be used to its last byte, and not one more", () => {
    const hold = makeBodyMemory(100)
    const bodies = [begin(hold, "a"), begin(hold, "b")]
    bodies[0]?.holds(60)
    bodies[1]?.holds(40)
    assert.deepStrictEqual(overtakenOf(bodies), [false, false])
    bodies[1]?.holds(41)
    assert.deepStrictEqual(overtakenOf(bodies), [true, false])
  })

  it("may be used by one body alone, and not one byte more", () => {
    const hold = makeBodyMemory(100)
    const body = begin(hold, "a")
    body.holds(100)
    assert.isFalse(body.overtaken())
    body.holds(101)
    assert.isTrue(body.overtaken())
  })

  it("is given up by whoever holds most, the oldest first, and by no more than has to", () => {
    const hold = makeBodyMemory(100)
    const honest = begin(hold, "honest")
    honest.holds(25)
    const greedy = [begin(hold, "greedy"), begin(hold, "greedy"), begin(hold, "greedy")]
    for (const { holds } of greedy) holds(24)
    assert.deepStrictEqual(overtakenOf([honest, ...greedy]), [false, false, false, false])
    honest.holds(35)
    assert.deepStrictEqual(overtakenOf([honest, ...greedy]), [false, true, false, false])
    // What it still brings in is not counted any more.
    greedy[0]?.holds(90)
    assert.deepStrictEqual(overtakenOf([honest, ...greedy]), [false, true, false, false])
    const another = begin(hold, "another")
    another.holds(30)
    assert.deepStrictEqual(overtakenOf([honest, ...greedy, another]), [false, true, true, false, false])
  })

  it("is given up by whoever holds most, in however few bodies", () => {
    const hold = makeBodyMemory(100)
    const large = begin(hold, "large")
    large.holds(60)
    const many = [begin(hold, "many"), begin(hold, "many"), begin(hold, "many")]
    for (const { holds } of many) holds(15)
    assert.deepStrictEqual(overtakenOf([large, ...many]), [true, false, false, false])
  })

  it("is not used by what is only announced", () => {
    const hold = makeBodyMemory(100)
    const silent = Array.from({ length: 1000 }, () => begin(hold, "greedy"))
    const honest = begin(hold, "honest")
    honest.holds(100)
    assert.isFalse(honest.overtaken())
    assert.isFalse(overtakenOf(silent).includes(true))
  })

  it("is free again when a body was let go of", () => {
    const hold = makeBodyMemory(100)
    for (let i = 0; i < 5; i++) {
      const read = begin(hold, "a")
      read.holds(100)
      read.release()
      const left = begin(hold, "a")
      left.holds(100)
      assert.isFalse(left.overtaken())
      left.release()
    }
    // Nobody pays for what is gone.
    const small = begin(hold, "a")
    small.holds(30)
    small.release()
    const others = [begin(hold, "b"), begin(hold, "c")]
    others[0]?.holds(60)
    others[1]?.holds(40)
    assert.deepStrictEqual(overtakenOf(others), [false, false])
  })
})
