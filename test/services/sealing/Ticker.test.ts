import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { TestClock } from "effect/testing"
import { makeTicker } from "../../../src/services/sealing/Ticker.ts"

/** A ticker, and when what it was given the name of was called. */
const begun = Effect.gen(function* () {
  const ticker = yield* makeTicker
  const called: Array<readonly [name: string, at: number]> = []
  const call = (name: string, at: number) => ticker.callAt(at, () => called.push([name, ticker.now()]))
  return { ...ticker, call, called }
})

describe("a ticker", () => {
  it.effect("calls at the times that it was given, never earlier, whatever the order", () =>
    Effect.gen(function* () {
      const { call, called } = yield* begun
      for (const at of [300, 100, 1000, 20, 100.2]) call(String(at), at)
      for (let passed = 0; passed < 1000; passed++) yield* TestClock.adjust(1)
      assert.deepStrictEqual(called, [
        ["20", 20],
        ["100", 100],
        ["100.2", 101],
        ["300", 300],
        ["1000", 1000],
      ])
    }),
  )

  it.effect("calls once, and not what was taken back, also when many are due", () =>
    Effect.gen(function* () {
      const { call, called } = yield* begun
      call("one", 50)
      const forget = call("two", 50)
      call("three", 2000)
      forget()
      forget()
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(
        called.map(([name]) => name),
        ["one", "three"],
      )
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(called.length, 2)
    }),
  )

  it.effect("does not take what is a turn of the wheel ahead for what is due", () =>
    Effect.gen(function* () {
      const { call, called } = yield* begun
      call("near", 10)
      call("far", 10 + 1024)
      yield* TestClock.adjust(1033)
      assert.deepStrictEqual(
        called.map(([name]) => name),
        ["near"],
      )
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(called[1], ["far", 1034])
    }),
  )

  it.effect("calls in the next turn what is late when it is asked for", () =>
    Effect.gen(function* () {
      const { call, called } = yield* begun
      yield* TestClock.adjust("1 hour")
      call("late", 5)
      yield* TestClock.adjust(1)
      assert.strictEqual(called.length, 1)
    }),
  )

  it.effect("goes on from within a call", () =>
    Effect.gen(function* () {
      const { callAt, now } = yield* begun
      const ticks: Array<number> = []
      const tick = () => {
        ticks.push(now())
        callAt(ticks.length * 100 + 100, tick)
      }
      callAt(100, tick)
      for (let passed = 0; passed < 500; passed += 10) yield* TestClock.adjust(10)
      assert.deepStrictEqual(ticks, [100, 200, 300, 400, 500])
    }),
  )

  it.effect("goes on after a call that threw", () =>
    Effect.gen(function* () {
      const { call, callAt, called } = yield* begun
      callAt(10, () => {
        throw new Error("thrown on purpose")
      })
      call("beside it", 10)
      call("later", 30)
      for (let passed = 0; passed < 2000; passed += 10) yield* TestClock.adjust(10)
      assert.sameMembers(
        called.map(([name]) => name),
        ["beside it", "later"],
      )
    }),
  )

  it.effect("calls nobody once its scope is closed", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { call, called } = yield* Scope.provide(begun, scope)
      call("never", 10)
      yield* Scope.close(scope, Exit.void)
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(called, [])
    }),
  )
})
