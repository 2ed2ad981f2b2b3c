import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Latch } from "effect"
import { makeCoalesced } from "../../../src/services/jobs/coalesced.ts"

/** Passes that wait for a latch, and the names of those that began and ended. */
const make = Effect.gen(function* () {
  const [begun, ended]: [Array<string>, Array<string>] = [[], []]
  const gate = yield* Latch.make()
  const pass = yield* makeCoalesced((name) =>
    Effect.andThen(
      Effect.sync(() => void begun.push(name)),
      Effect.andThen(
        gate.await,
        Effect.sync(() => void ended.push(name)),
      ),
    ),
  )
  const call = (name: string) => Effect.forkChild(pass(name), { startImmediately: true })
  return { begun, ended, gate, pass, call }
})

describe("coalesced passes", () => {
  it.effect("are shared by all callers of a name that come while one runs, beside those of other names", () =>
    Effect.gen(function* () {
      const { begun, call, ended, gate } = yield* make
      const first = yield* call("a")
      const later = [yield* call("a"), yield* call("a"), yield* call("b")]
      yield* Effect.yieldNow
      assert.deepStrictEqual(begun, ["a", "b"])
      yield* gate.open
      yield* Fiber.join(first)
      for (const fiber of later) yield* Fiber.join(fiber)
      assert.deepStrictEqual(ended.toSorted(), ["a", "a", "b"])
    }),
  )

  it.effect("go on for the other callers if the one that began them is interrupted", () =>
    Effect.gen(function* () {
      const { call, ended, gate, pass } = yield* make
      const first = yield* call("a")
      const second = yield* call("a")
      yield* Fiber.interrupt(first)
      yield* gate.open
      yield* Fiber.join(second)
      assert.deepStrictEqual(ended, ["a", "a"])
      yield* pass("a")
      assert.lengthOf(ended, 3)
    }),
  )
})
