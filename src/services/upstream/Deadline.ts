/**
 * The time limit of a request as a moment. Whatever waits on its way waits no longer than that, so nothing has to race
 * against the whole of it. Moments are told in milliseconds by a clock that nobody sets back.
 */
import { Clock, Data, Effect } from "effect"

const NANOS_PER_MS = 1_000_000

export const momentOf = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe()) / NANOS_PER_MS

/** The present moment. */
export const thisMoment: Effect.Effect<number> = Effect.map(Clock.Clock, momentOf)

/** The time of the request is over. It says nothing about the target that was being called. */
export class OutOfTime extends Data.TaggedError("OutOfTime") {}
