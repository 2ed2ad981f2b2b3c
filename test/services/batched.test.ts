import { assert, describe, it } from "@effect/vitest"
import { Array, Cause, Effect, Exit, Fiber, Scheduler } from "effect"
import { SqlError } from "effect/sql"
import { TestClock } from "effect/testing"
import { makeBatched } from "../../src/services/batched.ts"
import { withinTurns } from "../support/withinTurns.ts"

describe("a batch", () => {
  it.effect("does not fail other items if one causes a defect, thrown or returned", () =>
    Effect.gen(function* () {
      const batches: globalThis.Array<number> = []
      const ask = yield* makeBatched<string, string>({
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

  it.effect("may leave its last items to the next one, but not all", () =>
    Effect.gen(function* () {
      const batches: globalThis.Array<ReadonlyArray<string>> = []
      const ask = yield* makeBatched<string, string>({
        run: (items) => {
          batches.push(items)
          return Effect.succeed(items[0] === "none" ? [] : items.slice(0, 2))
        },
      })
      const exits = yield* Effect.forEach(["a", "b", "none", "c"], (item) => Effect.exit(ask(item)), {
        concurrency: "unbounded",
      })
      assert.deepStrictEqual(
        exits.map((exit) => (Exit.isSuccess(exit) ? exit.value : Cause.hasDies(exit.cause))),
        ["a", "b", true, "c"],
      )
      assert.deepStrictEqual(batches, [["a", "b", "none", "c"], ["none", "c"], ["c"]])
    }),
  )

  it.effect("that meets a hanging database fails items that arrived meanwhile, but not later ones", () =>
    Effect.gen(function* () {
      const asked: globalThis.Array<ReadonlyArray<string>> = []
      const ask = yield* makeBatched<string, string>({
        run: (items) => {
          asked.push(items)
          return asked.length === 1 ? Effect.never : Effect.succeed(items)
        },
      })
      const first = yield* Effect.forkChild(Effect.flip(ask("first")))
      yield* TestClock.adjust("3 seconds")
      const meanwhile = yield* Effect.forEach(["a", "b", "c"], (item) => Effect.forkChild(Effect.flip(ask(item))))
      yield* TestClock.adjust("2 seconds")
      for (const waiting of [first, ...meanwhile]) {
        assert.strictEqual((yield* Fiber.join(waiting))._tag, "StorageUnavailable")
      }
      assert.strictEqual(yield* ask("after"), "after")
      assert.deepStrictEqual(asked, [["first"], ["after"]])
    }),
  )

  it.effect("runs once if the database is away or sick, and item by item if the database refuses some", () =>
    Effect.gen(function* () {
      for (const [reason, asked] of [
        [new SqlError.ConnectionError({ cause: "away", message: "away", operation: "execute" }), 1],
        [new SqlError.UnknownError({ cause: { code: "25006" }, message: "read-only", operation: "execute" }), 1],
        [new SqlError.UnknownError({ cause: { code: "53100" }, message: "disk full", operation: "execute" }), 1],
        [new SqlError.UnknownError({ cause: { code: "22P05" }, message: "character", operation: "execute" }), 4],
        [new SqlError.ConstraintError({ cause: "refused", message: "refused", operation: "execute" }), 4],
      ] as const) {
        let times = 0
        const ask = yield* makeBatched<number, number>({
          run: () =>
            Effect.suspend(() => {
              times++
              return Effect.fail(new SqlError.SqlError({ reason }))
            }),
        })
        const failures = yield* Effect.forEach([1, 2, 3], (item) => Effect.flip(ask(item)), {
          concurrency: "unbounded",
        })
        assert.lengthOf(failures, 3)
        assert.strictEqual(times, asked, reason.message)
      }
    }),
  )

  it.live("loses no item that arrives as it ends, wherever its fiber pauses", () =>
    Effect.forEach(
      Array.range(3, 40),
      (operations) =>
        Effect.gen(function* () {
          const ask = yield* makeBatched<number, number>({ run: Effect.succeed })
          for (let pauses = 0; pauses < 20; pauses++) {
            const late = Effect.andThen(Effect.repeat(Effect.yieldNow, { times: pauses }), ask(2))
            const answers = yield* Effect.all([ask(1), late], { concurrency: "unbounded" }).pipe(
              // A forgotten question would never be answered.
              withinTurns("1 second"),
            )
            assert.deepStrictEqual(answers, [1, 2], `paused every ${operations} operations`)
          }
        }).pipe(Effect.provideService(Scheduler.MaxOpsBeforeYield, operations)),
      { discard: true },
    ),
  )
})
