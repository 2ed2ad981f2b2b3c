/** How soon each target began to answer lately, in this process. */
import type { TargetName } from "../../domain/upstream/targets.ts"

/** How many measurements count: the latest ones, while they are fresh. */
const WINDOW = 31
const MAX_AGE_MS = 15 * 60_000

/** A target with fewer fresh measurements than this is not ranked. */
export const ENOUGH_MEASUREMENTS = 3

/** How many targets are remembered, those that were called last: callers can make up names of models. */
export const MAX_TARGETS = 1_000

interface Measurement {
  readonly at: number
  readonly ms: number
}

export class FirstTokenTimes {
  private readonly measurements = new Map<string, Array<Measurement>>()

  /** Notes a time in milliseconds; `Infinity` for a call that failed before any output, so that it counts against. */
  add(target: TargetName, ms: number, now: number): void {
    const key = keyOf(target)
    const kept = this.measurements.get(key) ?? []
    this.measurements.delete(key)
    this.measurements.set(key, kept)
    kept.push({ at: now, ms })
    if (kept.length > WINDOW) kept.shift()
    if (this.measurements.size <= MAX_TARGETS) return
    for (const oldest of this.measurements.keys().take(1)) this.measurements.delete(oldest)
  }

  /** The median in milliseconds, `undefined` as long as there are not enough fresh measurements. */
  median(target: TargetName, now: number): number | undefined {
    const sorted = this.fresh(target, now)
      .map(({ ms }) => ms)
      .sort((a, b) => a - b)
    return sorted.length < ENOUGH_MEASUREMENTS ? undefined : sorted[Math.floor(sorted.length / 2)]
  }

  /** The longest of the latest times in milliseconds, however old; `undefined` if there was none or all calls failed. */
  longest(target: TargetName): number | undefined {
    let longest: number | undefined
    for (const { ms } of this.measurements.get(keyOf(target)) ?? []) {
      if (ms < Infinity && ms >= (longest ?? 0)) longest = ms
    }
    return longest
  }

  /** How many of the latest calls are known, failed ones included. */
  count(target: TargetName): number {
    return this.measurements.get(keyOf(target))?.length ?? 0
  }

  private fresh(target: TargetName, now: number): Array<Measurement> {
    return (this.measurements.get(keyOf(target)) ?? []).filter(({ at }) => now - at <= MAX_AGE_MS)
  }
}

const keyOf = ({ model, provider }: TargetName): string => `${provider}/${model}`
