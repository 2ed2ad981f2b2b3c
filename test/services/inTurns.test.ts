import { assert, it } from "@effect/vitest"
import { Array, Effect, Fiber, Stream } from "effect"
import { inTurns } from "../../src/services/inTurns.ts"

it.effect("a stream in turns has all values in order, and lets others go on meanwhile", () =>
  Effect.gen(function* () {
    let turns = 0
    // `forever` yields after each.
    const other = yield* Effect.forkChild(Effect.forever(Effect.sync(() => void turns++)))
    const values = Array.makeBy(1000, (i) => i)
    assert.deepStrictEqual(yield* Stream.runCollect(inTurns(values)), values)
    yield* Fiber.interrupt(other)
    assert.isAtLeast(turns, 30)
  }),
)
