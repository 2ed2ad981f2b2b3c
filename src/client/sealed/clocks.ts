/** Both clocks: the monotonic one may stop while the machine sleeps, and the time of day may be set. */
export interface ClockReading {
  /** As of `performance.now()`, in milliseconds. */
  readonly monotonic: number
  /** Milliseconds since the epoch. */
  readonly timeOfDay: number
}

export const readClocks = (): ClockReading => ({ monotonic: performance.now(), timeOfDay: Date.now() })

/** Milliseconds since a reading, by the clock that went further. */
export const longestSince = ({ monotonic, timeOfDay }: ClockReading): number =>
  Math.max(performance.now() - monotonic, Date.now() - timeOfDay)
