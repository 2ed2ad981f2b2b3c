/** Token buckets per caller and class of request, bounded in number. Redis shares them while it answers. */
import { Context, Data, Duration, Effect, Layer } from "effect"
import { RateLimiter } from "effect/persistence"
import { thisMoment } from "../moments.ts"

/** No request passes for `retryAfterMs`. */
export class RateLimited extends Data.TaggedClass("RateLimited")<{
  readonly limit: number
  readonly retryAfterMs: number
}> {}

/** The state of a bucket after a request passed. */
export interface RateAllowance {
  readonly limit: number
  readonly remaining: number
  readonly resetAfterMs: number
}

const WINDOW = Duration.minutes(1)

/** The policy of a tenant's requests of one class, sealed or not. */
export const ofTenants = (rateClass: string): string => `${rateClass}-per-tenant`
export const OF_KEYS = "requests-per-key"
export const rateKey = (policy: string, whose: string): string => `${policy}:${whose}`

export class RateLimits extends Context.Service<
  RateLimits,
  {
    /** Takes one of the `limit` requests per minute of `key`. A limit of 0 means no limit. */
    readonly take: (key: string, limit: number) => Effect.Effect<RateAllowance, RateLimited>
    /** Like `take`, but counts in this process only: for requests that orchestrators send to every process. */
    readonly takeHere: (key: string, limit: number) => Effect.Effect<RateAllowance, RateLimited>
    /** Fails if `takeHere` would, and takes nothing. */
    readonly lookHere: (key: string, limit: number) => Effect.Effect<void, RateLimited>
  }
>()("sealgate/services/access/RateLimits") {
  /** Buckets in this process only. */
  static readonly layer = Layer.sync(RateLimits, () => {
    const { lookHere, takeHere } = buckets()
    return RateLimits.of({ take: takeHere, takeHere, lookHere })
  })

  /** Buckets in the given store, or in this process alone while the store fails. */
  static readonly layerShared = Layer.effect(
    RateLimits,
    Effect.map(RateLimiter.RateLimiterStore, (store) => {
      const { lookHere, takeHere } = buckets()
      return RateLimits.of({ take: takeFrom(store, takeHere), takeHere, lookHere })
    }),
  )
}

type Take = RateLimits["Service"]["take"]

const UNLIMITED = Effect.succeed<RateAllowance>({ limit: 0, remaining: Infinity, resetAfterMs: 0 })

/** The outcome of a request that left `left` tokens, negative if there were none, `elapsedMs` after the last refill. */
const outcome = (limit: number, left: number, elapsedMs: number): Effect.Effect<RateAllowance, RateLimited> => {
  /** Milliseconds, rounded up, until `tokens` more have been refilled. */
  const until = (tokens: number) => Math.max(0, Math.ceil((tokens * Duration.toMillis(WINDOW)) / limit - elapsedMs))
  return left < 0
    ? Effect.fail(new RateLimited({ limit, retryAfterMs: until(-left) }))
    : Effect.succeed({ limit, remaining: left, resetAfterMs: until(limit - left) })
}

const takeFrom =
  (store: RateLimiter.RateLimiterStore["Service"], standIn: Take): Take =>
  (key, limit) => {
    if (limit === 0) return UNLIMITED
    const refillRate = Duration.divideUnsafe(WINDOW, limit)
    return Effect.matchEffect(store.tokenBucket({ key, limit, refillRate, tokens: 1, allowOverflow: false }), {
      onFailure: () => standIn(key, limit),
      onSuccess: ([left, elapsedMs]) => outcome(limit, left, elapsedMs),
    })
  }

/** Most buckets in the table, at about 130 bytes each. One more evicts the least recently used, which is most likely full. */
const MAX_BUCKETS = 100_000

interface Bucket {
  tokens: number
  refilledAt: number
}

const buckets = (): { readonly takeHere: Take; readonly lookHere: Take } => {
  const table = new Map<string, Bucket>()

  const find = (key: string, limit: number): Bucket => {
    const bucket = table.get(key)
    // Reinserted, so that the first key of the map is the least recently used.
    if (bucket !== undefined) table.delete(key)
    const current = bucket ?? { tokens: limit, refilledAt: -Infinity }
    table.set(key, current)
    if (table.size > MAX_BUCKETS) for (const oldest of table.keys().take(1)) table.delete(oldest)
    return current
  }

  const refilled = (key: string, limit: number, now: number): Bucket => {
    const bucket = find(key, limit)
    const interval = Duration.toMillis(WINDOW) / limit
    const came = Math.floor((now - bucket.refilledAt) / interval)
    if (bucket.tokens + came >= limit) {
      bucket.tokens = limit
      bucket.refilledAt = now
    } else if (came > 0) {
      bucket.tokens += came
      bucket.refilledAt += came * interval
    }
    return bucket
  }

  /** Requires one token, and takes `taken` (0 or 1). */
  const ask =
    (taken: number): Take =>
    (key, limit) =>
      limit === 0
        ? UNLIMITED
        : Effect.flatMap(thisMoment, (now) => {
            const bucket = refilled(key, limit, now)
            const left = bucket.tokens - 1
            if (left >= 0) bucket.tokens -= taken
            return outcome(limit, left, now - bucket.refilledAt)
          })

  return { takeHere: ask(1), lookHere: ask(0) }
}
