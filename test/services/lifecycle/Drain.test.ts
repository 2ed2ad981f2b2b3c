import { assert, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Logger } from "effect"
import { TestClock } from "effect/testing"
import { Drain } from "../../../src/services/lifecycle/Drain.ts"

it.effect("logs that nothing is in flight when an idle server stops", () =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const logger = Logger.make(({ message }) => void lines.push(String(message)))
    const { drain, draining } = yield* Drain
    yield* Effect.provide(drain, Logger.layer([logger]))
    assert.isTrue(yield* draining)
    assert.deepStrictEqual(lines, ["shutting down; nothing is in flight"])
  }).pipe(Effect.provide(Drain.layer({ grace: Duration.seconds(30) }))),
)

it.effect("calls back at the end of the grace period unless cancelled, and at once after it", () =>
  Effect.gen(function* () {
    const { drain, inFlight, onAbort } = yield* Drain
    const called: Array<string> = []
    yield* inFlight("request")
    onAbort(() => {
      called.push("first")
      onAbort(() => called.push("added by the first"))
    })
    onAbort(() => called.push("cancelled"))()
    onAbort(() => called.push("second"))
    const draining = yield* Effect.forkChild(drain)
    yield* TestClock.adjust(Duration.seconds(29))
    assert.deepStrictEqual(called, [])
    yield* TestClock.adjust(Duration.seconds(1))
    assert.deepStrictEqual(called, ["first", "added by the first", "second"])
    onAbort(() => called.push("late"))
    assert.strictEqual(called.at(-1), "late")
    yield* TestClock.adjust(Duration.seconds(3))
    yield* Fiber.join(draining)
  }).pipe(Effect.scoped, Effect.provide(Drain.layer({ grace: Duration.seconds(30) }))),
)
