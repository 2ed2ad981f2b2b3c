/** Moments, in milliseconds by a clock that nobody sets back: what waits by the time of day waits on when that happens. */
import { Clock, Effect } from "effect"

const NANOS_PER_MS = 1_000_000

export const momentOf = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe()) / NANOS_PER_MS

/** The present moment. */
export const thisMoment: Effect.Effect<number> = Effect.map(Clock.Clock, momentOf)
