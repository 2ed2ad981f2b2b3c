/** The pace of a stream, in milliseconds: frames sent by a clock do not reveal the number of tokens (protocol §5). */
import { FLOOR, UNPACED_FLOOR } from "./padding.ts"

export const DEFAULT_PACE = 100
/** Frames are sent as tokens arrive, for callers to whom latency matters more. */
export const UNPACED = 0

const SHORTEST = 20
const LONGEST = 1000

/** The requested pace, or {@link DEFAULT_PACE} if it is absent or invalid. */
export const paceOf = (value: unknown): number =>
  typeof value === "number" && Number.isInteger(value) && (value === UNPACED || (value >= SHORTEST && value <= LONGEST))
    ? value
    : DEFAULT_PACE

/** The smallest block of a stream at this pace. */
export const floorOf = (pace: number): number => (pace === UNPACED ? UNPACED_FLOOR : FLOOR)
