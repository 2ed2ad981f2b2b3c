/**
 * Token buckets per caller and class of request. In one process the buckets are held in a table of bounded size; with
 * Redis they are shared between processes, and that table stands in for it while it is away.
 */
import { Clock, Context, Duration, Effect, Layer, Schema } from "effect"
import { RateLimiter } from "effect/persistence"

/** The bucket is empty. `retryAfterMs` is when the next request would be let through. */
export class RateLimited extends Schema.TaggedError<RateLimited>()("RateLimited", {
  limit: Schema.Int,
  retryAfterMs: Schema.Finite,
}) {}

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
    readonly lookHere: (key: string, limit: number) => Effect.Effect<Allowance, RateLimited>
  }
>()("sealgate/services/access/RateLimits") {
  /** Buckets in this process alone. */
  static readonly layer = Layer.suspend(() =>
    Layer.effect(
      RateLimits,
      Effect.map(localLimiter, (limiter) => {
        const take = enforce(limiter)
        return RateLimits.of({ take, takeHere: take, lookHere: look(limiter) })
      }),
    ),
  )

  /**
   * Buckets in the given store, or in this process alone while the store fails: nobody is locked out and nobody passes
   * uncounted, but each process then enforces the limit by itself.
   */
  static readonly layerShared = Layer.effect(
    RateLimits,
    Effect.gen(function* () {
      const local = yield* localLimiter
      const takeHere = enforce(local)
      return RateLimits.of({ take: enforce(yield* RateLimiter.make, takeHere), takeHere, lookHere: look(local) })
    }),
  )
}

type Take = RateLimits["Service"]["take"]

/** Limits enforced with one limiter; `standIn` replaces it while its store fails. */
const enforce = (limiter: RateLimiter.RateLimiter, standIn?: Take): Take =>
  Effect.fnUntraced(function* (key, limit) {
    if (limit === 0) return { limit, remaining: Infinity, resetAfterMs: 0 }
    return yield* limiter.consume({ algorithm: "token-bucket", window: WINDOW, limit, key }).pipe(
      Effect.map(({ remaining, resetAfter }) => ({ limit, remaining, resetAfterMs: Duration.toMillis(resetAfter) })),
      Effect.catchReason("RateLimiterError", "RateLimitExceeded", (exceeded) =>
        Effect.fail(new RateLimited({ limit, retryAfterMs: Duration.toMillis(exceeded.retryAfter) })),
      ),
      // The store in memory does not fail, so without a stand-in a failure is a defect.
      Effect.catchTag("RateLimiterError", (error) => (standIn === undefined ? Effect.die(error) : standIn(key, limit))),
    )
  })

/** What is left of the buckets of a limiter in memory, which does not fail. */
const look = (limiter: RateLimiter.RateLimiter): Take =>
  Effect.fnUntraced(function* (key, limit) {
    if (limit === 0) return { limit, remaining: Infinity, resetAfterMs: 0 }
    const bucket = { algorithm: "token-bucket", window: WINDOW, limit, key, tokens: 0 } as const
    const { remaining, resetAfter } = yield* Effect.orDie(limiter.consume(bucket))
    const resetAfterMs = Duration.toMillis(resetAfter)
    if (remaining > 0) return { limit, remaining, resetAfterMs }
    // The time that all tokens but the next one take to return.
    const rest = (Duration.toMillis(WINDOW) * (limit - 1)) / limit
    return yield* new RateLimited({ limit, retryAfterMs: Math.max(0, resetAfterMs - rest) })
  })

/**
 * How many callers are remembered. One more evicts the caller that was inactive for longest, whose bucket is most
 * likely full. A bucket costs about 130 bytes.
 */
const MAX_BUCKETS = 100_000

interface Bucket {
  tokens: number
  refilledAt: number
}

/** The library's store in memory, with its table of token buckets replaced by one that cannot grow without end. */
const boundedStore = Layer.effect(
  RateLimiter.RateLimiterStore,
  Effect.map(RateLimiter.RateLimiterStore, (store) => {
    const buckets = new Map<string, Bucket>()

    const take = (key: string, limit: number): Bucket => {
      const bucket = buckets.get(key)
      // Set again even if present: a map is ordered by insertion, so its first key is the least recently used.
      if (bucket !== undefined) buckets.delete(key)
      const current = bucket ?? { tokens: limit, refilledAt: -Infinity }
      buckets.set(key, current)
      if (buckets.size > MAX_BUCKETS) {
        for (const oldest of buckets.keys()) {
          buckets.delete(oldest)
          break
        }
      }
      return current
    }

    return RateLimiter.RateLimiterStore.of({
      ...store,
      tokenBucket: ({ allowOverflow, key, limit, refillRate, tokens }) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          const bucket = take(key, limit)
          const refilled = Math.floor((now - bucket.refilledAt) / Duration.toMillis(refillRate))
          if (bucket.tokens + refilled >= limit) {
            bucket.tokens = limit
            bucket.refilledAt = now
          } else if (refilled > 0) {
            bucket.tokens += refilled
            bucket.refilledAt += refilled * Duration.toMillis(refillRate)
          }
          const left = bucket.tokens - tokens
          if (allowOverflow || left >= 0) bucket.tokens = left
          return [left, now - bucket.refilledAt] as const
        }),
    })
  }),
).pipe(Layer.provide(RateLimiter.layerStoreMemory))

const localLimiter = Effect.flatMap(Layer.build(boundedStore), (context) =>
  Effect.provideContext(RateLimiter.make, context),
)
