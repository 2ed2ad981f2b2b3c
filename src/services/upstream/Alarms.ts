/**
 * Ends calls when their time is over, by one timer for all of them: most calls are over long before, so a timer, a race and
 * two fibers for each would be for nothing.
 */
import { Clock, Duration, Effect, type Exit, Fiber } from "effect"
import { momentOf } from "../moments.ts"

/** What to do at a moment: fail with this, or look again at a later moment. */
export type Verdict<E> = Exit.Exit<never, E> | number

interface Alarm {
  due: number
  /** Returns the next moment to be called at, if there is any. */
  readonly ring: (moment: number) => number | undefined
}

export interface Alarms {
  readonly clock: Clock.Clock
  /** The present moment. */
  readonly now: () => number
  /**
   * Runs `call` in a fiber of its own until `look` says how it failed. `look` is asked at once, and at each moment that it
   * named before. What `call` does when it is interrupted is waited for. `begun` is given what has `look` asked before
   * that moment, for what fails a call at any time.
   */
  readonly watched: <A, E, E2>(
    call: Effect.Effect<A, E>,
    look: (moment: number) => Verdict<E2>,
    begun?: (lookNow: () => void) => void,
  ) => Effect.Effect<A, E | E2>
}

/** Alarms, which go off as long as the scope is open. */
export const makeAlarms = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const alarms = new Set<Alarm>()
  let isRinging = false
  let sleeping: { readonly since: number; readonly until: number; readonly fiber: Fiber.Fiber<void> } | undefined

  const now = () => momentOf(clock)

  const sleepUntil = (until: number): void => {
    sleeping?.fiber.interruptUnsafe()
    const wait = Effect.suspend(() => clock.sleep(Duration.millis(Math.max(0, until - now()))))
    const since = clock.currentTimeMillisUnsafe()
    sleeping = { since, until, fiber: fork(Effect.andThen(wait, Effect.sync(ringAll))) }
  }

  const ringAll = (): void => {
    const until = sleeping?.until ?? 0
    sleeping = undefined
    isRinging = true
    // The clock is finer than its timers, which wake a moment early at times.
    const moment = Math.max(until, now())
    try {
      for (const alarm of alarms) {
        if (alarm.due > moment) continue
        const due = alarm.ring(moment)
        if (due === undefined) alarms.delete(alarm)
        else alarm.due = due
      }
    } finally {
      isRinging = false
      sleepOn()
    }
  }

  const sleepOn = (): void => {
    let next = Infinity
    for (const { due } of alarms) next = Math.min(next, due)
    if (next < Infinity) sleepUntil(next)
  }

  const set = (alarm: Alarm): void => {
    alarms.add(alarm)
    if (isRinging) return
    if (sleeping === undefined || alarm.due < sleeping.until) sleepUntil(alarm.due)
    // Some clocks sleep by the time of day, so that who sleeps oversleeps when that is set back.
    else if (clock.currentTimeMillisUnsafe() < sleeping.since) sleepOn()
  }

  yield* Effect.addFinalizer(() => Effect.sync(() => sleeping?.fiber.interruptUnsafe()))

  return {
    clock,
    now,
    watched: <A, E, E2>(
      call: Effect.Effect<A, E>,
      look: (moment: number) => Verdict<E2>,
      begun?: (lookNow: () => void) => void,
    ) =>
      Effect.withFiber((caller) =>
        Effect.callback<A, E | E2>((resume) => {
          const first = look(now())
          if (typeof first !== "number") return resume(first)
          const fiber = Effect.runForkWith(caller.context)(call)
          let failed: Exit.Exit<never, E2> | undefined
          const ring = (moment: number): number | undefined => {
            const verdict = look(moment)
            if (typeof verdict === "number") return verdict
            failed = verdict
            fiber.interruptUnsafe()
            return undefined
          }
          const alarm: Alarm = { due: first, ring }
          begun?.(() => void (failed === undefined && ring(now())))
          if (fiber.pollUnsafe() === undefined) set(alarm)
          fiber.addObserver((exit) => {
            alarms.delete(alarm)
            resume(failed ?? exit)
          })
          return Fiber.interrupt(fiber)
        }),
      ),
  } satisfies Alarms
})
