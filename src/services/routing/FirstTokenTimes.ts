/** How soon each target began to answer lately: the moving median of time to first token, in this process. */
import type { TargetName } from "../../domain/targets.ts"

/** How many measurements count: the latest ones, while they are fresh. */
const WINDOW = 31
const MAX_AGE_MS = 15 * 60_000

/** A target with fewer fresh measurements than this is not ranked. */
export const ENOUGH_MEASUREMENTS = 3

interface Measurement {
  readonly at: number
  readonly ms: number
}

export class FirstTokenTimes {
  private readonly measurements = new Map<string, Array<Measurement>>()

  /** Notes a time in milliseconds; `Infinity` for a call that failed before any output, so that it counts against. */
  add(target: TargetName, ms: number, now: number): void {
    const key = keyOf(target)
    const kept = this.measurements.get(key)
    if (kept === undefined) this.measurements.set(key, [{ at: now, ms }])
    else {
      kept.push({ at: now, ms })
      if (kept.length > WINDOW) kept.shift()
    }
  }

  /** The median in milliseconds, `undefined` as long as there are not enough fresh measurements. */
  median(target: TargetName, now: number): number | undefined {
    const sorted = this.fresh(target, now)
      .map(({ ms }) => ms)
      .sort((a, b) => a - b)
    return sorted.length < ENOUGH_MEASUREMENTS ? undefined : sorted[Math.floor(sorted.length / 2)]
  }

  private fresh(target: TargetName, now: number): Array<Measurement> {
    return (this.measurements.get(keyOf(target)) ?? []).filter(({ at }) => now - at <= MAX_AGE_MS)
  }
}

const keyOf = ({ model, provider }: TargetName): string => `${provider}/${model}`
