/** Where something was answered that may come back there: of the last hour, and of a bounded number of things. */
import { Duration } from "effect"
import type { ProviderId } from "../../domain/upstream.ts"

/** How many are remembered: each takes some 200 bytes. */
export const MAX_PLACES = 20_000

/** How many of them may be one caller's, so that nobody makes the places of all others be forgotten. */
export const MAX_PLACES_OF_CALLER = 2_000

/** How long after its last use a place is remembered: as long as providers keep what they cached. */
export const KEPT_FOR = Duration.hours(1)

interface Place {
  /** `undefined` where callers are not told apart. */
  readonly caller: string | undefined
  readonly provider: ProviderId
  /** In milliseconds since the epoch. */
  readonly until: number
}

/** Times are in milliseconds since the epoch. An id is one caller's. */
export class RecentPlaces {
  /** In the order of their last use. */
  private readonly places = new Map<string, Place>()
  /** The ids of each caller in the same order. */
  private readonly idsOf = new Map<string | undefined, Set<string>>()

  /** Whether nothing is remembered, so that nothing has to be looked for. */
  isEmpty(now: number): boolean {
    this.forget(now)
    return this.places.size === 0
  }

  /** Looking for a place is no use of it. */
  get(id: string): ProviderId | undefined {
    return this.places.get(id)?.provider
  }

  set(id: string, caller: string | undefined, provider: ProviderId, now: number): void {
    this.delete(id)
    const ids = this.idsOf.get(caller) ?? new Set()
    this.idsOf.set(caller, ids.add(id))
    this.places.set(id, { caller, provider, until: now + Duration.toMillis(KEPT_FOR) })
    if (ids.size > MAX_PLACES_OF_CALLER) for (const oldest of ids.values().take(1)) this.delete(oldest)
    this.forget(now)
  }

  delete(id: string): void {
    const place = this.places.get(id)
    if (place === undefined) return
    this.places.delete(id)
    const ids = this.idsOf.get(place.caller)
    ids?.delete(id)
    if (ids?.size === 0) this.idsOf.delete(place.caller)
  }

  private forget(now: number): void {
    for (const [id, { until }] of this.places) {
      if (until > now && this.places.size <= MAX_PLACES) return
      this.delete(id)
    }
  }
}
