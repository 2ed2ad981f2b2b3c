/** Remembers for a while which provider answered something. The number of entries is bounded. */
import { Duration } from "effect"
import type { ProviderId } from "../../domain/upstream/upstream.ts"

/** The number of places remembered. Each takes some 200 bytes. */
export const MAX_PLACES = 20_000

/** The number of places per caller, so that one caller cannot displace all others. */
export const MAX_PLACES_OF_CALLER = 2_000

interface Place {
  /** `undefined` if callers are not identified. */
  readonly caller: string | undefined
  readonly provider: ProviderId
  /** A moment (see `moments.ts`). */
  readonly until: number
}

/** Times are moments (see `moments.ts`). Each id belongs to one caller. */
export class RecentPlaces {
  private readonly keptMs: number
  /** In insertion order. */
  private readonly places = new Map<string, Place>()
  /** The ids of each caller in insertion order. */
  private readonly idsOf = new Map<string | undefined, Set<string>>()

  /** `keptFor`: how long a place is remembered after it was set. */
  constructor(keptFor: Duration.Duration) {
    this.keptMs = Duration.toMillis(keptFor)
  }

  /** Whether nothing is remembered, so that lookups can be skipped. */
  isEmpty(now: number): boolean {
    this.forget(now)
    return this.places.size === 0
  }

  get(id: string): ProviderId | undefined {
    return this.places.get(id)?.provider
  }

  set(id: string, caller: string | undefined, provider: ProviderId, now: number): void {
    this.delete(id)
    const ids = this.idsOf.get(caller) ?? new Set()
    this.idsOf.set(caller, ids.add(id))
    this.places.set(id, { caller, provider, until: now + this.keptMs })
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
