/** Signals within a process, and the regular wake-up for signals that were lost. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeSignalBoard } from "../../../src/services/jobs/JobSignals.ts"

describe("the signal board", () => {
  it.effect("wakes a waiter every 5 s without a signal, for as long as it waits", () =>
    Effect.gen(function* () {
      const board = yield* makeSignalBoard
      let woken = 0
      const wait = (topic: string) =>
        Effect.flatMap(board.subscribe([topic]), ({ next }) =>
          Effect.forever(
            Effect.andThen(
              next,
              Effect.sync(() => woken++),
            ),
          ),
        )
      yield* Effect.forkScoped(wait("a"))
      yield* TestClock.adjust("4999 millis")
      assert.strictEqual(woken, 0)
      yield* TestClock.adjust("1 millis")
      for (let times = 1; times <= 3; times++) {
        assert.strictEqual(woken, times)
        yield* TestClock.adjust("5 seconds")
      }
      // Also the next waiter, after a time without any.
      yield* Effect.forkScoped(wait("b"))
      woken = 0
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(woken, 4)
    }),
  )

  it.effect("wakes a waiter that comes after a time without any", () =>
    Effect.gen(function* () {
      const board = yield* makeSignalBoard
      yield* Effect.scoped(board.subscribe(["a"]))
      yield* TestClock.adjust("1 hour")
      const { next } = yield* board.subscribe(["b"])
      const waiting = yield* Effect.forkChild(next)
      yield* TestClock.adjust("5 seconds")
      assert.isDefined(waiting.pollUnsafe())
    }),
  )

  it.effect("forgets the topics of a waiter that has left, and of no other", () =>
    Effect.gen(function* () {
      const board = yield* makeSignalBoard
      const heard: Array<string> = []
      yield* board.listen((topic) => void heard.push(topic))
      yield* board.subscribe(["shared"])
      yield* Effect.scoped(board.subscribe(["shared", "own"]))
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(heard, ["shared"])
    }),
  )
})
