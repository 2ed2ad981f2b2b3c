import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeTimer } from "../../src/services/Timer.ts"

/** A timer, and when each named call came. */
const begun = Effect.gen(function* () {
  const timer = yield* makeTimer
  const called: Array<readonly [name: string, at: number]> = []
  const call = (name: string, at: number) => timer.callAt(at, () => called.push([name, timer.now()]))
  return { ...timer, call, called }
})

describe("a timer", () => {
  it.effect("calls at the given moments, never earlier, in any order of registration", () =>
    Effect.gen(function* () {
      const { call, called } = yield* begun
      for (const at of [300, 100, 20, 100.2]) call(String(at), at)
      yield* TestClock.adjust(1000)
      assert.deepStrictEqual(called, [
        ["20", 20],
        ["100", 100],
        ["100.2", 101],
        ["300", 300],
      ])
    }),
  )

  it.effect("keeps to moments that are seconds away, except those of cancelled calls", () =>
    Effect.gen(function* () {
      const { call, called } = yield* begun
      const cancelAll = [5100, 5200].map((at) => call(`cancelled ${at}`, at))
      for (const cancel of cancelAll) cancel()
      for (const cancel of cancelAll) cancel()
      for (const at of [5900, 5300.5, 5000, 7000]) call(String(at), at)
      const cancelEarly = call("cancelled early", 5400)
      const cancelLate = call("cancelled late", 5950)
      cancelEarly()
      yield* TestClock.adjust(5500)
      cancelLate()
      yield* TestClock.adjust(5000)
      assert.deepStrictEqual(called, [
        ["5000", 5000],
        ["5300.5", 5301],
        ["5900", 5900],
        ["7000", 7000],
      ])
    }),
  )

  it.effect("calls at once when the moment has passed", () =>
    Effect.gen(function* () {
      const { call, called } = yield* begun
      yield* TestClock.adjust("1 hour")
      call("late", 5)
      yield* TestClock.adjust(1)
      assert.lengthOf(called, 1)
    }),
  )

  it.effect("keeps to a moment after the time of day was set back", () =>
    Effect.gen(function* () {
      const { call, called, now } = yield* begun
      yield* TestClock.setTime(7_200_000)
      const at = now() + 100
      yield* TestClock.setTime(3_600_000)
      call("due", at)
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(called, [["due", at]])
    }),
  )

  it.effect("makes the other calls after one that throws", () =>
    Effect.gen(function* () {
      const { call, callAt, called } = yield* begun
      callAt(10, () => {
        throw new Error("thrown on purpose")
      })
      call("beside it", 10)
      call("later", 30)
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(
        called.map(([name]) => name),
        ["beside it", "later"],
      )
    }),
  )
})
