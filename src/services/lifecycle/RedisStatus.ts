/** Whether limits and circuits are shared through Redis right now, for `/ready` and metrics. */
import { Context, Effect, Metric } from "effect"
import { gauge } from "../metrics.ts"

/** `down`: Redis is configured but cannot be used, so this process counts alone. `off`: none is configured. */
type RedisState = "up" | "down" | "off"

/** The default; a server with Redis provides the real state. */
export const RedisStatus = Context.Reference<Effect.Effect<RedisState>>("sealgate/services/lifecycle/RedisStatus", {
  defaultValue: () => Effect.succeed("off"),
})

const redisUp = gauge("sealgate_redis_up")()

export const redisObserved = (up: boolean): Effect.Effect<void> => Metric.update(redisUp, up ? 1 : 0)
