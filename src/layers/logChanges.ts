import { Effect } from "effect"

/** Logs when something is lost and when it is back, once each. */
export const logChanges = <A>(lost: (reason: A) => Effect.Effect<void>, back: Effect.Effect<void>) => {
  let isLost = false
  const become = (now: boolean, log: Effect.Effect<void>) =>
    Effect.suspend(() => {
      if (now === isLost) return Effect.void
      isLost = now
      return log
    })
  return { lost: (reason: A) => become(true, lost(reason)), back: become(false, back) }
}
