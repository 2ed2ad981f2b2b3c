/** Recent times to first token of each target, in this process. */
import { nameOf, type TargetName } from "../../domain/upstream/targets.ts"

/** Only the latest fresh measurements count, at most this many. */
const WINDOW = 31
const MAX_AGE_MS = 15 * 60_000

/** Targets with fewer fresh measurements are not ranked. */
export const ENOUGH_MEASUREMENTS = 3

/** Maximum number of remembered targets, the last called ones: callers can invent model names. */
const MAX_TARGETS = 1_000

interface Measurement {
  readonly at: number
  readonly ms: number
}

export class FirstTokenTimes {
  private readonly measurements = new Map<string, Array<Measurement>>()

  /** Adds a time in milliseconds; `Infinity` for a call that failed before any output. */
  add(target: TargetName, ms: number, now: number): void {
    const key = nameOf(target)
    const kept = this.measurements.get(key) ?? []
    this.measurements.delete(key)
    this.measurements.set(key, kept)
    kept.push({ at: now, ms })
    if (kept.length > WINDOW) kept.shift()
    if (this.measurements.size <= MAX_TARGETS) return
    for (const oldest of this.measurements.keys().take(1)) this.measurements.delete(oldest)
  }

  /** The median in milliseconds; `undefined` without enough fresh measurements. */
  median(target: TargetName, now: number): number | undefined {
    const sorted = this.fresh(target, now)
      .map(({ ms }) => ms)
      .sort((a, b) => a - b)
    return sorted.length < ENOUGH_MEASUREMENTS ? undefined : sorted[Math.floor(sorted.length / 2)]
  }

  /** The longest finite recent time in milliseconds, of any age; `undefined` if there is none. */
  longest(target: TargetName): number | undefined {
    let longest: number | undefined
    for (const { ms } of this.measurements.get(nameOf(target)) ?? []) {
      if (ms < Infinity && ms >= (longest ?? 0)) longest = ms
    }
    return longest
  }

  /** The number of recent calls, failed ones included. */
  count(target: TargetName): number {
    return this.measurements.get(nameOf(target))?.length ?? 0
  }

  private fresh(target: TargetName, now: number): Array<Measurement> {
    return (this.measurements.get(nameOf(target)) ?? []).filter(({ at }) => now - at <= MAX_AGE_MS)
  }
}
