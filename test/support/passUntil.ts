import { Effect } from "effect"
import { TestClock } from "effect/testing"

/** Lets the test's time pass, second by second, until it is so. Files are read, and servers answer, in real time. */
export const passUntil = Effect.fnUntraced(function* <E, R>(isSo: Effect.Effect<boolean, E, R>) {
  while (!(yield* isSo)) {
    yield* TestClock.adjust("1 second")
    yield* TestClock.withLive(Effect.sleep("2 millis"))
  }
})
