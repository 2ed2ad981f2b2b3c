/** Slows down clients whose requests keep being refused: without this, one of them could use up the processor. */

/** Refusals of one client per second that are answered at once. */
const PER_SECOND = 200
/** Burst size, in milliseconds of refusals. */
const BURST_MS = 1000
/** Longest delay, in milliseconds. */
const MAX_WAIT_MS = 1000

export interface RefusalCounts {
  /** Counts one refusal. Returns how many milliseconds the client's connection has to pause. */
  readonly count: (client: string) => number
  /** How many milliseconds a new connection of the client has to pause before its first request. */
  readonly pause: (client: string) => number
  /** Removes the clients whose refusals no longer count. */
  readonly forget: () => void
}

export const makeRefusals = (now: () => number = () => performance.now()): RefusalCounts => {
  /** When the refusals of each client stop counting: they are worked off at `PER_SECOND`. */
  const until = new Map<string, number>()
  const pauseUntil = (end: number, time: number) => Math.min(Math.max(0, end - time - BURST_MS), MAX_WAIT_MS)
  return {
    count: (client) => {
      const time = now()
      const next = Math.max(until.get(client) ?? time, time) + 1000 / PER_SECOND
      until.set(client, Math.min(next, time + BURST_MS + MAX_WAIT_MS))
      return pauseUntil(next, time)
    },
    pause: (client) => {
      const end = until.get(client)
      return end === undefined ? 0 : pauseUntil(end, now())
    },
    forget: () => {
      const time = now()
      for (const [client, end] of until) if (end <= time) until.delete(client)
    },
  }
}
