/** The providers that the environment configures, behind the fault policy; the built-in echo when there are none. */
import { Effect, Layer } from "effect"
import { defaultUpstreamSettings, type UpstreamSettings } from "../services/upstream/UpstreamSettings.ts"
import { layerUpstreamHttpClient } from "../services/upstream/UpstreamHttpClient.ts"
import * as Anthropic from "../services/upstream/providers/Anthropic.ts"
import * as Gemini from "../services/upstream/providers/Gemini.ts"
import * as OpenAiCompatible from "../services/upstream/providers/OpenAiCompatible.ts"
import { echo } from "../services/upstream/providers/Echo.ts"
import { Upstream } from "../services/upstream/Upstream.ts"
import type { Decoded } from "./config/Setting.ts"
import { type Slot, SLOTS, type upstreamSettings } from "./config/upstreamSettings.ts"
import type { ServerSettings } from "./NodeServer.ts"
import { layerCircuitStore } from "./SharedState.ts"
import type { RedisError } from "effect/persistence/Redis"

export type UpstreamConfiguration = Decoded<typeof upstreamSettings>

/** The fault policy that the settings describe. */
export const policyOf = (configured: UpstreamConfiguration): UpstreamSettings => ({
  timeouts: {
    connect: configured.connectTimeout,
    answer: configured.answerTimeout,
    firstToken: configured.firstTokenTimeout,
    idle: configured.idleTimeout,
    total: configured.totalTimeout,
  },
  retry: {
    ...defaultUpstreamSettings.retry,
    times: configured.retries,
    base: configured.retryBase,
    cap: configured.retryCap,
    maxRetryAfter: configured.maxRetryAfter,
  },
  bulkhead: {
    calls: configured.bulkheadCalls,
    waiting: configured.bulkheadWaiting,
    maxWait: configured.bulkheadMaxWait,
  },
  circuit: {
    ...defaultUpstreamSettings.circuit,
    failures: configured.circuitFailures,
    open: configured.circuitOpen,
    maxOpen: configured.circuitMaxOpen,
  },
})

const WIRE_FORMATS = {
  provider1: OpenAiCompatible,
  provider2: OpenAiCompatible,
  provider3: Anthropic,
  provider4: Gemini,
} as const

const isLoopback = (url: URL): boolean => /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)

const makeProvider = Effect.fnUntraced(function* (slot: Slot, configured: UpstreamConfiguration) {
  const apiKey = configured[`${slot}ApiKey`]
  if (apiKey === undefined) return []
  const baseUrl = configured[`${slot}BaseUrl`]
  if (baseUrl.protocol === "http:" && !isLoopback(baseUrl)) {
    yield* Effect.logWarning(
      `${slot} is called over plain HTTP: its key and every prompt are readable on the way there`,
    )
  }
  const options = { id: slot, apiKey, baseUrl: baseUrl.href, defaultModel: configured[`${slot}Model`] }
  return [yield* WIRE_FORMATS[slot].make(options)]
})

/** The configured providers as `Upstream`. */
export const layerUpstream = (
  configured: UpstreamConfiguration & Pick<ServerSettings, "redisUrl">,
): Layer.Layer<Upstream, RedisError> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const order = [...new Set([...configured.providerOrder, ...SLOTS])]
      const providers = (yield* Effect.forEach(order, (slot) => makeProvider(slot, configured))).flat()
      return Upstream.layerNoDeps({
        providers: providers.length === 0 ? [echo] : providers,
        settings: policyOf(configured),
      })
    }),
  ).pipe(
    Layer.provide(layerUpstreamHttpClient({ connect: configured.connectTimeout })),
    Layer.provide(layerCircuitStore(configured.redisUrl)),
  )
