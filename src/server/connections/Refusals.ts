/**
 * Slows clients that go on sending what is refused. A refusal costs a server about as much as it costs its sender, so
 * whoever sends many at a time would have the processor for itself.
 */

/** Refusals of one client per second that are answered at once. */
const PER_SECOND = 200
/** A client whose refusals have come singly may have so many at once. */
const BURST_MS = 1000
/** The longest that a client waits, in milliseconds. */
const MAX_WAIT_MS = 1000

interface Refusals {
  /** Counts one refusal. The client's connection is to rest for so many milliseconds. */
  readonly count: (client: string) => number
  /** Forgets clients whose refusals are long ago. */
  readonly forget: () => void
}

export const makeRefusals = (now: () => number = () => performance.now()): Refusals => {
  /** Until when the refusals of a client last, at `PER_SECOND`. */
  const until = new Map<string, number>()
  return {
    count: (client) => {
      const time = now()
      const next = Math.max(until.get(client) ?? time, time) + 1000 / PER_SECOND
      until.set(client, Math.min(next, time + BURST_MS + MAX_WAIT_MS))
      return Math.min(Math.max(0, next - time - BURST_MS), MAX_WAIT_MS)
    },
    forget: () => {
      const time = now()
      for (const [client, end] of until) if (end <= time) until.delete(client)
    },
  }
}
