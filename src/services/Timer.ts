/** Calls functions at given moments, without a fiber of the caller that waits. */
import { Clock, Duration, Effect } from "effect"
import { momentOf } from "./moments.ts"

export interface Timer {
  readonly clock: Clock.Clock
  /** The present moment, see `moments.ts`. */
  readonly now: () => number
  /** Calls `call` at the moment `at`, or at once if that has passed. Returns a function that cancels the call. */
  readonly callAt: (at: number, call: () => void) => () => void
}

export const makeTimer: Effect.Effect<Timer> = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const now = () => momentOf(clock)
  return {
    clock,
    now,
    callAt: (at, call) => {
      const wait = clock.sleep(Duration.millis(Math.max(0, Math.ceil(at - now()))))
      const fiber = fork(Effect.andThen(wait, Effect.sync(call)))
      return () => fiber.interruptUnsafe()
    },
  }
})
