/** The shared memory of bodies being received, filled exactly and exceeded by one byte. */
import { assert, describe, it } from "@effect/vitest"
import { type HoldBody, makeBodyMemory } from "../../src/http/shared/BodyMemory.ts"

/** A body that arrives on request, and whether it was dropped. */
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

describe("the memory of request bodies", () => {
  it("can be used up to its last byte", () => {
    const hold = makeBodyMemory(100)
    const bodies = [begin(hold, "a"), begin(hold, "b")]
    bodies[0]?.holds(60)
    bodies[1]?.holds(40)
    assert.deepStrictEqual(overtakenOf(bodies), [false, false])
    bodies[1]?.holds(41)
    assert.deepStrictEqual(overtakenOf(bodies), [true, false])
  })

  it("can be used up by one body alone", () => {
    const hold = makeBodyMemory(100)
    const body = begin(hold, "a")
    body.holds(100)
    assert.isFalse(body.overtaken())
    body.holds(101)
    assert.isTrue(body.overtaken())
  })

  it("is freed by dropping the fewest bodies, the oldest of the client that holds most first", () => {
    const hold = makeBodyMemory(100)
    const honest = begin(hold, "honest")
    honest.holds(25)
    const greedy = [begin(hold, "greedy"), begin(hold, "greedy"), begin(hold, "greedy")]
    for (const { holds } of greedy) holds(24)
    assert.deepStrictEqual(overtakenOf([honest, ...greedy]), [false, false, false, false])
    honest.holds(35)
    assert.deepStrictEqual(overtakenOf([honest, ...greedy]), [false, true, false, false])
    // Further bytes of a dropped body do not count.
    greedy[0]?.holds(90)
    assert.deepStrictEqual(overtakenOf([honest, ...greedy]), [false, true, false, false])
    const another = begin(hold, "another")
    another.holds(30)
    assert.deepStrictEqual(overtakenOf([honest, ...greedy, another]), [false, true, true, false, false])
  })

  it("is freed by the client that holds most, even in few bodies", () => {
    const hold = makeBodyMemory(100)
    const large = begin(hold, "large")
    large.holds(60)
    const many = [begin(hold, "many"), begin(hold, "many"), begin(hold, "many")]
    for (const { holds } of many) holds(15)
    assert.deepStrictEqual(overtakenOf([large, ...many]), [true, false, false, false])
  })

  it("is not used by announced bytes that have not arrived", () => {
    const hold = makeBodyMemory(100)
    const silent = Array.from({ length: 1000 }, () => begin(hold, "greedy"))
    const honest = begin(hold, "honest")
    honest.holds(100)
    assert.isFalse(honest.overtaken())
    assert.isFalse(overtakenOf(silent).includes(true))
  })

  it("is free again after a body was released", () => {
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
    // Released bodies do not count against their client.
    const small = begin(hold, "a")
    small.holds(30)
    small.release()
    const others = [begin(hold, "b"), begin(hold, "c")]
    others[0]?.holds(60)
    others[1]?.holds(40)
    assert.deepStrictEqual(overtakenOf(others), [false, false])
  })
})
