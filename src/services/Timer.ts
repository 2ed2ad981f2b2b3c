/** Calls functions at given moments, without a fiber of the caller that waits. */
import { Clock, Duration, Effect, type Fiber } from "effect"
import { momentOf } from "./moments.ts"

export interface Timer {
  readonly clock: Clock.Clock
  /** The present moment, see `moments.ts`. */
  readonly now: () => number
  /** Calls `call` at the moment `at`, or at once if that has passed. Returns a function that cancels the call. */
  readonly callAt: (at: number, call: () => void) => () => void
}

const SECOND = 1000

/** Calls that are due in the same later second. Most are cancelled before, so one fiber waits for all of them. */
interface Together {
  readonly fiber: Fiber.Fiber<unknown>
  /** Each forks a fiber for its call. */
  readonly begins: Set<() => void>
}

/** A fiber for each call would take 4 % of the CPU time of a call of a model. */
export const makeTimer: Effect.Effect<Timer> = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const now = () => momentOf(clock)
  const later = new Map<number, Together>()

  const forkAt = (at: number, call: () => void) =>
    fork(Effect.andThen(clock.sleep(Duration.millis(Math.max(0, Math.ceil(at - now())))), Effect.sync(call)))

  const inSecond = (second: number): Together => {
    const known = later.get(second)
    if (known !== undefined) return known
    const begins = new Set<() => void>()
    const fiber = forkAt(second * SECOND, () => {
      later.delete(second)
      for (const begin of begins) begin()
    })
    const together = { fiber, begins }
    later.set(second, together)
    return together
  }

  return {
    clock,
    now,
    callAt: (at, call) => {
      const second = Math.floor(at / SECOND)
      let fiber: Fiber.Fiber<unknown> | undefined
      const begin = () => {
        fiber = forkAt(at, call)
      }
      if (second * SECOND <= now()) {
        begin()
        return () => fiber?.interruptUnsafe()
      }
      const together = inSecond(second)
      together.begins.add(begin)
      return () => {
        if (fiber !== undefined) return fiber.interruptUnsafe()
        if (!together.begins.delete(begin) || together.begins.size > 0) return
        together.fiber.interruptUnsafe()
        later.delete(second)
      }
    },
  }
})
