import { Clock, Effect } from "effect"

/** The clock of this process, and by how many milliseconds somebody has set it forward. */
export const settableClock = Effect.map(Clock.Clock, (live) => {
  const set = { forward: 0 }
  const clock: Clock.Clock = Object.assign(Object.create(live), {
    currentTimeMillisUnsafe: () => live.currentTimeMillisUnsafe() + set.forward,
    currentTimeMillis: Effect.sync(() => live.currentTimeMillisUnsafe() + set.forward),
  })
  return { clock, set }
})
