/** Time ranges of the overview. They begin at a full UTC hour or day, so that columns are comparable. */
import type { RoutingStats } from "../../../client/gateway/GatewayClient.ts"
import type { Interval } from "../../../domain/routing/intervals.ts"
import { usd } from "../../../domain/routing/dollars.ts"
import { percent, plural } from "../../shared/format.ts"

export const RANGES = {
  day: { label: "24 hours", interval: "hour", length: 24, unitMs: 3_600_000 },
  week: { label: "7 days", interval: "day", length: 7, unitMs: 86_400_000 },
  month: { label: "30 days", interval: "day", length: 30, unitMs: 86_400_000 },
} as const satisfies Record<string, { label: string; interval: Interval; length: number; unitMs: number }>
export type Range = keyof typeof RANGES

/** Returns the start of a range whose last interval is the current one. */
export const beginOf = (range: Range, now: number): number => {
  const { length, unitMs } = RANGES[range]
  return (Math.floor(now / unitMs) - length + 1) * unitMs
}

/** Labels a column in UTC: `14:00` or `Nov 21`. */
export const columnLabel = (time: string, interval: Interval): string =>
  new Date(time).toLocaleString("en-US", {
    timeZone: "UTC",
    ...(interval === "hour"
      ? { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }
      : { month: "short", day: "numeric" }),
  })

/** Describes the chart in words, for screen readers. */
export const inWords = (stats: RoutingStats, range: Range): string => {
  const { interval, label } = RANGES[range]
  const dearest = (stats.over_time ?? []).reduce<{ from: string; actual_micro_usd: number } | undefined>(
    (most, part) => (part.actual_micro_usd > (most?.actual_micro_usd ?? 0) ? part : most),
    undefined,
  )
  const saved =
    stats.saved_micro_usd < 0
      ? `${usd(-stats.saved_micro_usd)} more than the baseline`
      : `${usd(stats.saved_micro_usd)} less than the baseline (${percent(stats.saved_percent)})`
  const peak =
    dearest === undefined ? "" : ` The most expensive ${interval} began at ${columnLabel(dearest.from, interval)} UTC.`
  return (
    `Cost per ${interval} over ${label}: ${plural(stats.calls, "call")} cost ${usd(stats.actual_micro_usd)}; ` +
    `those with a known baseline cost ${saved}, which is ${usd(stats.baseline_micro_usd)}.${peak} ` +
    "The table below has every figure."
  )
}
