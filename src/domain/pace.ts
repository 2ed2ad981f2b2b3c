/**
 * The pace of a stream (sealed protocol §5): milliseconds between its frames. Frames that are sent when a clock ticks, and not
 * when a token came, tell nobody on the path how many tokens there were.
 */
import { FLOOR, UNPACED_FLOOR } from "./padding.ts"

export const DEFAULT_PACE = 100
/** A frame for each arrival: for callers to whom every millisecond matters more. */
export const UNPACED = 0

const SHORTEST = 20
const LONGEST = 1000

/** What a request says, or {@link DEFAULT_PACE}, if it says nothing or nothing that can be. */
export const paceOf = (value: unknown): number =>
  typeof value === "number" && Number.isInteger(value) && (value === UNPACED || (value >= SHORTEST && value <= LONGEST))
    ? value
    : DEFAULT_PACE

/** The smallest block of a stream at this pace. */
export const floorOf = (pace: number): number => (pace === UNPACED ? UNPACED_FLOOR : FLOOR)
