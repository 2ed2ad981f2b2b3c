/** Divides periods into UTC hours or days. Times are milliseconds since the epoch. */
import { Schema } from "effect"

export const Interval = Schema.Literals(["hour", "day"])
export type Interval = typeof Interval.Type

const LENGTH_MS = { hour: 3_600_000, day: 86_400_000 } as const satisfies Record<Interval, number>

/** Intervals of a period at most: 31 days of hours, and one more if it begins within an hour. */
export const MAX_INTERVALS = 31 * 24 + 1

/** Number of the interval since the epoch that contains `at`. */
export const intervalAt = (at: number, interval: Interval): number => Math.floor(at / LENGTH_MS[interval])

/** Number of intervals between `from` (inclusive) and `to` (exclusive). */
export const countIntervals = (from: number, to: number, interval: Interval): number =>
  from >= to ? 0 : Math.ceil(to / LENGTH_MS[interval]) - intervalAt(from, interval)

/** The intervals of a period, in order and without gaps; the first and the last may be shorter. */
export const intervalsOf = (from: number, to: number, interval: Interval) => {
  const first = intervalAt(from, interval)
  return Array.from({ length: countIntervals(from, to, interval) }, (_, i) => ({
    interval: first + i,
    from: Math.max(from, (first + i) * LENGTH_MS[interval]),
    to: Math.min(to, (first + i + 1) * LENGTH_MS[interval]),
  }))
}
