/** Moments: milliseconds of the monotonic clock, which does not change when the time of day is set. */
import { Clock, Effect } from "effect"

const NANOS_PER_MS = 1_000_000

export const momentOf = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe()) / NANOS_PER_MS

export const thisMoment: Effect.Effect<number> = Effect.map(Clock.Clock, momentOf)
