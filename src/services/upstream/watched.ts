/** Ends calls when their time is over. */
import { Effect, type Exit } from "effect"
import { mayBreakOff } from "../mayBreakOff.ts"
import type { Timer } from "../Timer.ts"

/** The failure of a call, or the moment of the next check. */
export type WatchResult<E> = Exit.Exit<never, E> | number

/** Runs `call` until `look` returns a failure. `look` is called at once, and then at each moment that it returned. */
export const watched = <A, E, E2>(
  timer: Timer,
  call: Effect.Effect<A, E>,
  look: (moment: number) => WatchResult<E2>,
): Effect.Effect<A, E | E2> =>
  Effect.suspend((): Effect.Effect<A, E | E2> => {
    const first = look(timer.now())
    if (typeof first !== "number") return first
    return mayBreakOff(call, (breakOff) => {
      let cancel: () => void
      const lookAt = (moment: number): void => {
        cancel = timer.callAt(moment, () => {
          const verdict = look(timer.now())
          if (typeof verdict === "number") lookAt(verdict)
          else breakOff(verdict)
        })
      }
      lookAt(first)
      return () => cancel()
    })
  })
