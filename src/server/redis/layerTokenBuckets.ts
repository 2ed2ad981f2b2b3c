/** Buckets by Redis's clock. The library uses each process's: one that is ahead would stop refills for the others. */
import { Duration, Effect, Layer } from "effect"
import { RateLimiter, Redis } from "effect/persistence"

/** The keys and values are the library's. */
const script = Redis.script(
  (keys: readonly [tokens: string, refilledAt: string], ...args: ReadonlyArray<number>) => [...keys, ...args],
  {
    numberOfKeys: 2,
    lua: `
local taken, refill_ms, limit, overflow = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == "1"
local time = redis.call("TIME")
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local tokens = tonumber(redis.call("GET", KEYS[1])) or limit
local refilled_at = math.min(tonumber(redis.call("GET", KEYS[2])) or now, now)
local came = math.floor((now - refilled_at) / refill_ms)
tokens = math.min(tokens + came, limit)
refilled_at = tokens >= limit and now or refilled_at + came * refill_ms
local left = tokens - taken
if left >= 0 or overflow then tokens = left end
local elapsed = now - refilled_at
local ttl = math.max(1, math.ceil((limit - tokens) * refill_ms - elapsed))
redis.call("SET", KEYS[1], tokens, "PX", ttl)
redis.call("SET", KEYS[2], refilled_at, "PX", ttl)
-- 17 significant digits represent any number exactly.
return { string.format("%.17g", left), string.format("%.17g", elapsed) }
`,
  },
).withReturnType<readonly [left: string, elapsedMs: string]>()

export const layerTokenBuckets = (prefix: string) =>
  Layer.effect(
    RateLimiter.RateLimiterStore,
    Effect.gen(function* () {
      const take = (yield* Redis.Redis).eval(script)
      return RateLimiter.RateLimiterStore.of({
        ...(yield* RateLimiter.makeStoreRedis({ prefix })),
        tokenBucket: ({ allowOverflow, key, limit, refillRate, tokens }) =>
          take(
            [`${prefix}${key}`, `${prefix}${key}:refill`],
            tokens,
            Duration.toMillis(refillRate),
            limit,
            Number(allowOverflow),
          ).pipe(
            Effect.map(([left, elapsedMs]) => [Number(left), Number(elapsedMs)] as const),
            Effect.mapError(
              (cause) =>
                new RateLimiter.RateLimiterError({
                  reason: new RateLimiter.RateLimitStoreError({ message: "Redis refused to take a token", cause }),
                }),
            ),
          ),
      })
    }),
  )
