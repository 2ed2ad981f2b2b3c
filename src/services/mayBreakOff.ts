/** Runs effects that a callback may break off. */
import { Effect, type Exit, Fiber } from "effect"

/**
 * Runs `effect` in another fiber until `watch` breaks it off with a failure, and waits for its interruption. `watch` returns
 * what ends the watching. A race would take two more fibers.
 */
export const mayBreakOff = <A, E, E2>(
  effect: Effect.Effect<A, E>,
  watch: (breakOff: (failure: Exit.Exit<never, E2>) => void) => () => void,
): Effect.Effect<A, E | E2> =>
  Effect.withFiber((caller) =>
    Effect.callback<A, E | E2>((resume) => {
      const fiber = Effect.runForkWith(caller.context)(effect)
      let failed: Exit.Exit<never, E2> | undefined
      const breakOff = (failure: Exit.Exit<never, E2>) => {
        failed = failure
        fiber.interruptUnsafe()
      }
      const end = fiber.pollUnsafe() === undefined ? watch(breakOff) : () => undefined
      fiber.addObserver((exit) => {
        end()
        resume(failed ?? exit)
      })
      return Fiber.interrupt(fiber)
    }),
  )
