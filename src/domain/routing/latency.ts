/** Percentiles of latencies, estimated from a histogram, because histograms of hours can be added up. */
import { Record } from "effect"

/** Upper bounds of the histogram's classes in milliseconds, by the name of each class. The last class has no bound. */
export const LATENCY_CLASSES = {
  ms_100: 100,
  ms_200: 200,
  ms_400: 400,
  ms_700: 700,
  ms_1000: 1000,
  ms_1500: 1500,
  ms_2000: 2000,
  ms_3000: 3000,
  ms_5000: 5000,
  ms_7000: 7000,
  ms_10000: 10_000,
  ms_15000: 15_000,
  ms_20000: 20_000,
  ms_30000: 30_000,
  ms_60000: 60_000,
  ms_120000: 120_000,
  ms_more: Infinity,
} as const
export type LatencyClass = keyof typeof LATENCY_CLASSES
type LatencyCounts = Readonly<Record<LatencyClass, number>>

export const LATENCY_NAMES = Record.keys(LATENCY_CLASSES)

const lowerBound = (i: number): number => {
  const before = LATENCY_NAMES[i - 1]
  return before === undefined ? 0 : LATENCY_CLASSES[before]
}

/** SQL: whether `column` is in a class: above its lower bound, and up to its upper one. */
export const isInClass = (name: LatencyClass, column: string): string => {
  const above = `${column} > ${lowerBound(LATENCY_NAMES.indexOf(name))}`
  if (name === "ms_more") return above
  const within = `${column} <= ${LATENCY_CLASSES[name]}`
  return name === "ms_100" ? within : `${above} AND ${within}`
}

/**
 * The latency in whole milliseconds that a `share` of the calls does not exceed, taking the calls of a class as evenly
 * spread; `null` without calls. Above the last bound it is that bound.
 */
export const latencyAt = (share: number, counts: LatencyCounts): number | null => {
  const rank = share * LATENCY_NAMES.reduce((total, name) => total + counts[name], 0)
  if (rank === 0) return null
  let below = 0
  for (const [i, name] of LATENCY_NAMES.entries()) {
    const [lower, upper] = [lowerBound(i), LATENCY_CLASSES[name]]
    if (below + counts[name] >= rank) {
      return upper === Infinity ? lower : Math.round(lower + ((upper - lower) * (rank - below)) / counts[name])
    }
    below += counts[name]
  }
  return lowerBound(LATENCY_NAMES.length - 1)
}
