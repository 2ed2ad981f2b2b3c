/** State that several processes may share through one Redis; without one, each process has its own in memory. */
import * as NodeRedis from "@effect/platform-node/NodeRedis"
import { Layer, Redacted } from "effect"
import { CircuitBreaker, RateLimiter } from "effect/persistence"
import { RateLimits } from "../services/access/RateLimits.ts"

const PREFIX = "sealgate:"

type RedisUrl = Redacted.Redacted | undefined

const redis = (url: Redacted.Redacted) => NodeRedis.layer({ url: Redacted.value(url) })

/** Token buckets per caller. */
export const layerRateLimits = (url: RedisUrl) =>
  url === undefined
    ? RateLimits.layer
    : RateLimits.layerNoDeps.pipe(
        Layer.provide(RateLimiter.layer),
        Layer.provide(RateLimiter.layerStoreRedis({ prefix: `${PREFIX}rate:` })),
        Layer.provide(redis(url)),
      )

/** Circuits of the providers. */
export const layerCircuitStore = (url: RedisUrl) =>
  url === undefined
    ? CircuitBreaker.layerStoreMemory()
    : CircuitBreaker.layerStoreRedis({ prefix: `${PREFIX}circuit:` }).pipe(Layer.provide(redis(url)))
