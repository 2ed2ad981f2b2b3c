/** The configured providers behind the fault policy, or the built-in echo if there are none. */
import { Effect, Layer } from "effect"
import { hostName, isLoopback } from "../domain/access/hostName.ts"
import { defaultUpstreamSettings, type UpstreamSettings } from "../services/upstream/UpstreamSettings.ts"
import { makeDispatcher, type NetworkProxies, ProviderHttp } from "../services/upstream/ProviderHttp.ts"
import { PROVIDERS, type Slot, SLOTS } from "../services/upstream/Slots.ts"
import { makeHttpProvider } from "../services/upstream/providers/http/HttpProvider.ts"
import { echo } from "../services/upstream/providers/echo/Echo.ts"
import { Upstream } from "../services/upstream/Upstream.ts"
import { showKeyRefusals } from "../services/upstream/UpstreamMetrics.ts"
import type { UpstreamConfiguration } from "./config/upstreamSettings.ts"
import type { ServerSettings } from "./config/serverSettings.ts"
import { sealedProvider } from "./SealedProvider.ts"
import { layerCircuitStore } from "../server/redis/SharedState.ts"

export type { UpstreamConfiguration } from "./config/upstreamSettings.ts"

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
    slow: configured.circuitSlow,
    open: configured.circuitOpen,
    maxOpen: configured.circuitMaxOpen,
  },
})

/** The network's HTTP proxies, if any are configured. */
const proxiesOf = ({ httpProxy, httpsProxy, noProxy }: UpstreamConfiguration): NetworkProxies | undefined =>
  httpProxy === undefined && httpsProxy === undefined
    ? undefined
    : { http: httpProxy, https: httpsProxy, except: noProxy }

/** The port of a URL, or the default port of its scheme. */
const portOf = ({ port, protocol }: URL): number => (port !== "" ? Number(port) : protocol === "https:" ? 443 : 80)

/** The `fetch` that calls a sealed proxy through the network's HTTP proxies. */
const fetchThrough = Effect.fnUntraced(function* (configured: UpstreamConfiguration) {
  const proxies = proxiesOf(configured)
  if (proxies === undefined) return undefined
  const dispatcher = yield* makeDispatcher(configured.connectTimeout, proxies)
  const { fetch: fetchWithDispatcher } = yield* Effect.promise(() => import("undici"))
  // undici's `fetch` is the same code as Node's, but its types are unrelated.
  const through = fetchWithDispatcher as unknown as (url: string, init: object) => Promise<Response>
  return (url: string, init: RequestInit) => through(url, { ...init, dispatcher })
})

const makeProvider = Effect.fnUntraced(function* (slot: Slot, configured: UpstreamConfiguration) {
  const apiKey = configured[`${slot}ApiKey`]
  const pins = configured[`${slot}SealedPin`]
  const baseUrl = configured[`${slot}BaseUrl`]
  const server = { address: baseUrl.hostname, port: portOf(baseUrl) }
  const firstToken = configured[`${slot}FirstTokenTimeout`]
  const common = { id: slot, baseUrl: baseUrl.href, defaultModel: configured[`${slot}Model`] }
  if (pins !== undefined) {
    yield* showKeyRefusals(slot)
    const { traceHeaders } = configured
    const fetch = yield* fetchThrough(configured)
    return [{ ...sealedProvider({ ...common, apiKey, pins, traceHeaders, fetch }), server, firstToken }]
  }
  if (apiKey === undefined) return []
  if (baseUrl.protocol === "http:" && !isLoopback(hostName(baseUrl.host))) {
    yield* Effect.logWarning(
      `${slot} is called over plain HTTP, so its key and every prompt are readable on the path; use https`,
    )
  }
  yield* showKeyRefusals(slot)
  return [{ ...(yield* makeHttpProvider(PROVIDERS[slot].format, { ...common, apiKey })), server, firstToken }]
})

/** The configured providers as `Upstream`. */
export const layerUpstream = (
  configured: UpstreamConfiguration & Pick<ServerSettings, "redisUrl">,
): Layer.Layer<Upstream> =>
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
    Layer.provide(
      ProviderHttp.layer({
        connect: configured.connectTimeout,
        traceHeaders: configured.traceHeaders,
        proxies: proxiesOf(configured),
      }),
    ),
    Layer.provide(layerCircuitStore(configured.redisUrl)),
  )
