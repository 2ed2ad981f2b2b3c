/** State that processes share through Redis. Without Redis, or while it does not answer, each process counts alone. */
import { Effect, Layer, type Redacted } from "effect"
import { CircuitBreaker, type Redis } from "effect/persistence"
import { RateLimits } from "../../services/access/RateLimits.ts"
import { layerTokenBuckets } from "./layerTokenBuckets.ts"
import { layerCircuitsInMemory, withLocalFallback } from "../../services/upstream/CircuitStore.ts"

/** In a cluster, its hash tag puts all keys in one slot: scripts cannot span slots, and one probe stands for every key. */
const PREFIX = "{sealgate}:"

type RedisUrl = Redacted.Redacted | undefined

const connections = new WeakMap<Redacted.Redacted, Layer.Layer<Redis.Redis>>()

/** One layer per URL, so that limits and circuits share a connection. The driver is loaded only here, for fast starts. */
const connectionTo = (url: Redacted.Redacted): Layer.Layer<Redis.Redis> => {
  const known = connections.get(url)
  if (known !== undefined) return known
  const layer = Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./RedisConnection.ts")),
      (connection) => connection.layerRedisConnection(url, `${PREFIX}probe`),
    ),
  )
  connections.set(url, layer)
  return layer
}

/** Token buckets per caller; with a Redis, also its `RedisStatus`. */
export const layerRateLimits = (url: RedisUrl): Layer.Layer<RateLimits> =>
  url === undefined
    ? RateLimits.layer
    : RateLimits.layerShared.pipe(
        Layer.provide(layerTokenBuckets(`${PREFIX}rate:`)),
        Layer.provideMerge(connectionTo(url)),
      )

export const layerCircuitStore = (url: RedisUrl): Layer.Layer<CircuitBreaker.CircuitBreakerStore> =>
  url === undefined
    ? layerCircuitsInMemory
    : withLocalFallback(CircuitBreaker.layerStoreRedis({ prefix: `${PREFIX}circuit:` })).pipe(
        Layer.provide(connectionTo(url)),
      )
