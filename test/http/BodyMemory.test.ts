/** Bodies on their way in and the memory that they share, met exactly and exceeded by one byte. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber } from "effect"
import { type HoldBody, type Holds, isBodyOvertaken, makeBodyMemory } from "../../src/http/shared/BodyMemory.ts"

/** A body that comes in as one says. */
const begin = Effect.fnUntraced(function* (hold: HoldBody, client: string) {
  const begun = yield* Deferred.make<Holds>()
  const ended = yield* Deferred.make<string>()
  const reading = yield* Effect.forkChild(
    hold(client, (holds) => Effect.andThen(Deferred.succeed(begun, holds), Deferred.await(ended))),
  )
  return {
    holds: yield* Deferred.await(begun),
    end: Effect.andThen(Deferred.succeed(ended, "read"), Fiber.await(reading)),
    leave: Fiber.interrupt(reading),
    /** Whether it was made to let go. */
    overtaken: Effect.gen(function* () {
      yield* Effect.yieldNow
      yield* Effect.yieldNow
      const exit = reading.pollUnsafe()
      return exit !== undefined && Exit.isFailure(exit) && isBodyOvertaken(Cause.squash(exit.cause))
    }),
  }
})

const overtakenOf = (bodies: ReadonlyArray<Effect.Success<ReturnType<typeof begin>>>) =>
  Effect.forEach(bodies, ({ overtaken }) => overtaken)

describe("the memory of bodies", () => {
  it.effect("may be used to its last byte, and not one more", () =>
    Effect.gen(function* () {
      const hold = makeBodyMemory(100)
      const bodies = [yield* begin(hold, "a"), yield* begin(hold, "b")]
      bodies[0]?.holds(60)
      bodies[1]?.holds(40)
      assert.deepStrictEqual(yield* overtakenOf(bodies), [false, false])
      bodies[1]?.holds(41)
      assert.deepStrictEqual(yield* overtakenOf(bodies), [true, false])
    }),
  )

  it.effect("may be used by one body alone, and not one byte more", () =>
    Effect.gen(function* () {
      const hold = makeBodyMemory(100)
      const body = yield* begin(hold, "a")
      body.holds(100)
      assert.isFalse(yield* body.overtaken)
      body.holds(101)
      assert.isTrue(yield* body.overtaken)
    }),
  )

  it.effect("is given up by whoever holds most, the oldest first, and by no more than has to", () =>
    Effect.gen(function* () {
      const hold = makeBodyMemory(100)
      const honest = yield* begin(hold, "honest")
      honest.holds(25)
      const greedy = [yield* begin(hold, "greedy"), yield* begin(hold, "greedy"), yield* begin(hold, "greedy")]
      for (const { holds } of greedy) holds(24)
      assert.deepStrictEqual(yield* overtakenOf([honest, ...greedy]), [false, false, false, false])
      honest.holds(35)
      assert.deepStrictEqual(yield* overtakenOf([honest, ...greedy]), [false, true, false, false])
      // What it still brings in is not counted any more.
      greedy[0]?.holds(90)
      assert.deepStrictEqual(yield* overtakenOf([honest, ...greedy]), [false, true, false, false])
      const another = yield* begin(hold, "another")
      another.holds(30)
      assert.deepStrictEqual(yield* overtakenOf([honest, ...greedy, another]), [false, true, true, false, false])
      assert.deepStrictEqual(yield* honest.end, Exit.succeed("read"))
    }),
  )

  it.effect("is given up by whoever holds most, in however few bodies", () =>
    Effect.gen(function* () {
      const hold = makeBodyMemory(100)
      const large = yield* begin(hold, "large")
      large.holds(60)
      const many = [yield* begin(hold, "many"), yield* begin(hold, "many"), yield* begin(hold, "many")]
      for (const { holds } of many) holds(15)
      assert.deepStrictEqual(yield* overtakenOf([large, ...many]), [true, false, false, false])
    }),
  )

  it.effect("is not used by what is only announced", () =>
    Effect.gen(function* () {
      const hold = makeBodyMemory(100)
      const silent = yield* Effect.forEach(Array.from({ length: 1000 }), () => begin(hold, "greedy"))
      const honest = yield* begin(hold, "honest")
      honest.holds(100)
      assert.isFalse(yield* honest.overtaken)
      assert.isFalse((yield* overtakenOf(silent)).includes(true))
    }),
  )

  it.effect("is free again when a body was read, or nobody waits for it any more", () =>
    Effect.gen(function* () {
      const hold = makeBodyMemory(100)
      for (let i = 0; i < 5; i++) {
        const read = yield* begin(hold, "a")
        read.holds(100)
        assert.deepStrictEqual(yield* read.end, Exit.succeed("read"))
        const left = yield* begin(hold, "a")
        left.holds(100)
        assert.isFalse(yield* left.overtaken)
        yield* left.leave
      }
      // Nobody pays for what is gone.
      const small = yield* begin(hold, "a")
      small.holds(30)
      yield* small.end
      const others = [yield* begin(hold, "b"), yield* begin(hold, "c")]
      others[0]?.holds(60)
      others[1]?.holds(40)
      assert.deepStrictEqual(yield* overtakenOf(others), [false, false])
    }),
  )
})
