/**
 * Moments on both clocks of this machine. The monotonic clock may stop while the machine sleeps, and the time of day may be
 * set.
 */
export interface Moment {
  /** As of `performance.now()`, in milliseconds. */
  readonly monotonic: number
  /** Milliseconds since the epoch. */
  readonly timeOfDay: number
}

export const thisMoment = (): Moment => ({ monotonic: performance.now(), timeOfDay: Date.now() })

/** Milliseconds since then, by the clock that went further. */
export const longestSince = ({ monotonic, timeOfDay }: Moment): number =>
  Math.max(performance.now() - monotonic, Date.now() - timeOfDay)
