/** Spans of time divided along UTC hours or days. All times are in milliseconds since the epoch. */
import { Schema } from "effect"

export const Interval = Schema.Literals(["hour", "day"])
export type Interval = typeof Interval.Type

const LENGTH_MS = { hour: 3_600_000, day: 86_400_000 } as const satisfies Record<Interval, number>

/** A span is divided into at most so many intervals: 31 days of hours, and one more for a span that begins within one. */
export const MAX_INTERVALS = 31 * 24 + 1

/** Which interval since the epoch a moment is in. */
export const intervalAt = (at: number, interval: Interval): number => Math.floor(at / LENGTH_MS[interval])

/** How many intervals there are between `from`, which is included, and `to`, which is not. */
export const countIntervals = (from: number, to: number, interval: Interval): number =>
  from >= to ? 0 : Math.ceil(to / LENGTH_MS[interval]) - intervalAt(from, interval)

/**
 * The intervals of a span, in order and without gaps: the first begins at `from` and the last ends at `to`, so these two
 * may be shorter than the others.
 */
export const intervalsOf = (from: number, to: number, interval: Interval) => {
  const first = intervalAt(from, interval)
  return Array.from({ length: countIntervals(from, to, interval) }, (_, i) => ({
    interval: first + i,
    from: Math.max(from, (first + i) * LENGTH_MS[interval]),
    to: Math.min(to, (first + i + 1) * LENGTH_MS[interval]),
  }))
}
