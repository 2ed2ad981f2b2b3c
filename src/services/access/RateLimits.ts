/**
 * Token buckets per caller and class of request. In one process the buckets are held in a table of bounded size; with
 * Redis they are shared between processes, and that table stands in for it while it is away.
 */
import { Context, Data, Duration, Effect, Layer } from "effect"
import { RateLimiter } from "effect/persistence"
import { thisMoment } from "../moments.ts"

/**
 * The bucket is empty. `retryAfterMs` is when the next request would be let through. It is no `Error`, because to note
 * where each of a flood of requests was refused would cost more than all the rest of refusing it.
 */
export class RateLimited extends Data.TaggedClass("RateLimited")<{
  readonly limit: number
  readonly retryAfterMs: number
}> {}

/** What is left after a request was let through. */
export interface Allowance {
  readonly limit: number
  readonly remaining: number
  readonly resetAfterMs: number
}

const WINDOW = Duration.minutes(1)

export class RateLimits extends Context.Service<
  RateLimits,
  {
    /** Takes one of the `limit` requests per minute that `key` has. A limit of 0 lets everything through. */
    readonly take: (key: string, limit: number) => Effect.Effect<Allowance, RateLimited>
    /** The same for requests that orchestrators make to every process: they are counted in this process alone. */
    readonly takeHere: (key: string, limit: number) => Effect.Effect<Allowance, RateLimited>
    /** Takes nothing, but fails if `takeHere` would fail. */
    readonly lookHere: (key: string, limit: number) => Effect.Effect<void, RateLimited>
  }
>()("sealgate/services/access/RateLimits") {
  /** Buckets in this process alone. */
  static readonly layer = Layer.sync(RateLimits, () => {
    const { lookHere, takeHere } = buckets()
    return RateLimits.of({ take: takeHere, takeHere, lookHere })
  })

  /**
   * Buckets in the given store, or in this process alone while the store fails: nobody is locked out and nobody passes
   * uncounted, but each process then enforces the limit by itself.
   */
  static readonly layerShared = Layer.effect(
    RateLimits,
    Effect.map(RateLimiter.RateLimiterStore, (store) => {
      const { lookHere, takeHere } = buckets()
      return RateLimits.of({ take: takeFrom(store, takeHere), takeHere, lookHere })
    }),
  )
}

type Take = RateLimits["Service"]["take"]

const UNLIMITED = Effect.succeed<Allowance>({ limit: 0, remaining: Infinity, resetAfterMs: 0 })

/** What became of a request that left `left` tokens, fewer than none if it found none, `elapsedMs` after the last one came. */
const outcome = (limit: number, left: number, elapsedMs: number): Effect.Effect<Allowance, RateLimited> => {
  /** Until a bucket with `tokens` less than it should have has them again, in whole milliseconds. */
  const until = (tokens: number) => Math.max(0, Math.ceil((tokens * Duration.toMillis(WINDOW)) / limit - elapsedMs))
  return left < 0
    ? Effect.fail(new RateLimited({ limit, retryAfterMs: until(-left) }))
    : Effect.succeed({ limit, remaining: left, resetAfterMs: until(limit - left) })
}

/** Limits enforced in `store`; `standIn` replaces it while it fails. */
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

/**
 * How many callers are remembered. One more evicts the caller that was inactive for longest, whose bucket is most
 * likely full. A bucket costs about 130 bytes.
 */
const MAX_BUCKETS = 100_000

interface Bucket {
  tokens: number
  refilledAt: number
}

/** Limits enforced in a table of this process, which cannot grow without end. */
const buckets = (): { readonly takeHere: Take; readonly lookHere: Take } => {
  const table = new Map<string, Bucket>()

  const find = (key: string, limit: number): Bucket => {
    const bucket = table.get(key)
    // Set again even if present: a map is ordered by insertion, so its first key is the least recently used.
    if (bucket !== undefined) table.delete(key)
    const current = bucket ?? { tokens: limit, refilledAt: -Infinity }
    table.set(key, current)
    if (table.size > MAX_BUCKETS) {
      for (const oldest of table.keys()) {
        table.delete(oldest)
        break
      }
    }
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

  /** Asks for one token, of which `taken` are taken if there is one. */
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
