/** Where something was answered that may come back there: of the last hour, and of a bounded number of things. */
import { Duration } from "effect"
import type { ProviderId } from "../../domain/upstream.ts"

/** How many are remembered: each takes some 200 bytes. */
export const MAX_PLACES = 20_000

/** How long after its last use a place is remembered: as long as providers keep what they cached. */
export const KEPT_FOR = Duration.hours(1)

interface Place {
  readonly provider: ProviderId
  /** In milliseconds since the epoch. */
  readonly until: number
}

/** Times are in milliseconds since the epoch. */
export class RecentPlaces {
  /** In the order of their last use. */
  private readonly places = new Map<string, Place>()

  /** Whether nothing is remembered, so that nothing has to be looked for. */
  isEmpty(now: number): boolean {
    this.forget(now)
    return this.places.size === 0
  }

  /** Looking for a place is no use of it. */
  get(id: string): ProviderId | undefined {
    return this.places.get(id)?.provider
  }

  set(id: string, provider: ProviderId, now: number): void {
    this.places.delete(id)
    this.places.set(id, { provider, until: now + Duration.toMillis(KEPT_FOR) })
    this.forget(now)
  }

  delete(id: string): void {
    this.places.delete(id)
  }

  private forget(now: number): void {
    for (const [id, { until }] of this.places) {
      if (until > now && this.places.size <= MAX_PLACES) return
      this.places.delete(id)
    }
  }
}
