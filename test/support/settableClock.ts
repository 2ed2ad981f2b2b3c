import { Clock, Duration, Effect } from "effect"

/** The clock of this process, and by how many milliseconds somebody has set it forward. */
export const settableClock = Effect.map(Clock.Clock, (live) => {
  const set = { forward: 0 }
  const clock: Clock.Clock = Object.assign(Object.create(live), {
    currentTimeMillisUnsafe: () => live.currentTimeMillisUnsafe() + set.forward,
    currentTimeMillis: Effect.sync(() => live.currentTimeMillisUnsafe() + set.forward),
  })
  return { clock, set }
})

/** Runs a test with a clock that it can set forward. */
export const timed = <A, E, R>(test: (forward: (time: Duration.Input) => void) => Effect.Effect<A, E, R>) =>
  Effect.flatMap(settableClock, ({ clock, set }) => {
    const forward = (time: Duration.Input) => {
      set.forward += Duration.toMillis(time)
    }
    return Effect.provideService(test(forward), Clock.Clock, clock)
  })
