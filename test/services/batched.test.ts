import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import { makeBatched } from "../../src/services/batched.ts"

describe("what is asked together", () => {
  it.effect("fails none of the others by a fault, where that is thrown or not", () =>
    Effect.gen(function* () {
      const batches: Array<number> = []
      const ask = yield* makeBatched<string, string>({
        most: 8,
        run: (items) => {
          batches.push(items.length)
          if (items.includes("thrown")) throw new Error("thrown")
          return items.includes("unreadable") ? Effect.die(new Error("unreadable")) : Effect.succeed(items)
        },
      })
      const exits = yield* Effect.forEach(["a", "thrown", "unreadable", "b"], (item) => Effect.exit(ask(item)), {
        concurrency: "unbounded",
      })
      assert.strictEqual(batches[0], 4)
      assert.deepStrictEqual(
        exits.map((exit) => (Exit.isSuccess(exit) ? exit.value : Cause.hasDies(exit.cause))),
        ["a", true, true, "b"],
      )
    }),
  )
})
