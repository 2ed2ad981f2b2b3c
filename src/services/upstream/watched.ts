/** Ends calls when their time is over. */
import { Effect, type Exit, Fiber } from "effect"
import type { Timer } from "../Timer.ts"

/** The failure of a call, or the moment of the next check. */
export type Verdict<E> = Exit.Exit<never, E> | number

/**
 * Runs `call` in another fiber until `look` returns a failure, and waits for its interruption. `look` is called at once,
 * and then at each moment that it returned.
 */
export const watched = <A, E, E2>(
  timer: Timer,
  call: Effect.Effect<A, E>,
  look: (moment: number) => Verdict<E2>,
): Effect.Effect<A, E | E2> =>
  Effect.withFiber((caller) =>
    Effect.callback<A, E | E2>((resume) => {
      const first = look(timer.now())
      if (typeof first !== "number") return resume(first)
      const fiber = Effect.runForkWith(caller.context)(call)
      let failed: Exit.Exit<never, E2> | undefined
      let cancel: () => void = () => undefined
      const lookAt = (moment: number): void => {
        cancel = timer.callAt(moment, () => {
          const verdict = look(timer.now())
          if (typeof verdict === "number") return lookAt(verdict)
          failed = verdict
          fiber.interruptUnsafe()
        })
      }
      if (fiber.pollUnsafe() === undefined) lookAt(first)
      fiber.addObserver((exit) => {
        cancel()
        resume(failed ?? exit)
      })
      return Fiber.interrupt(fiber)
    }),
  )
