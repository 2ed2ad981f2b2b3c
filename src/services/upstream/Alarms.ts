/** Ends calls when their time is over. */
import { type Clock, Effect, type Exit, Fiber } from "effect"
import { makeTimer } from "../Timer.ts"

/** The failure of a call, or the moment of the next check. */
export type Verdict<E> = Exit.Exit<never, E> | number

export interface Alarms {
  readonly clock: Clock.Clock
  /** The present moment. */
  readonly now: () => number
  /**
   * Runs `call` in another fiber until `look` returns a failure, and waits for its interruption. `look` is called at once,
   * and then at each moment that it returned. `begun` receives a function that calls it earlier.
   */
  readonly watched: <A, E, E2>(
    call: Effect.Effect<A, E>,
    look: (moment: number) => Verdict<E2>,
    begun?: (lookNow: () => void) => void,
  ) => Effect.Effect<A, E | E2>
}

export const makeAlarms: Effect.Effect<Alarms> = Effect.map(makeTimer, ({ callAt, clock, now }) => ({
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
        const lookNow = (): number | undefined => {
          const verdict = failed ?? look(now())
          if (typeof verdict === "number") return verdict
          failed = verdict
          fiber.interruptUnsafe()
          return undefined
        }
        let cancel: () => void = () => undefined
        const lookAt = (moment: number): void => {
          cancel = callAt(moment, () => {
            const next = lookNow()
            if (next !== undefined) lookAt(next)
          })
        }
        begun?.(() => void lookNow())
        if (fiber.pollUnsafe() === undefined) lookAt(first)
        fiber.addObserver((exit) => {
          cancel()
          resume(failed ?? exit)
        })
        return Fiber.interrupt(fiber)
      }),
    ),
}))
