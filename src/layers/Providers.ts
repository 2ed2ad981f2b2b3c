/** The configured providers behind the fault policy, or the built-in echo if there are none. */
import { ConfigProvider, Effect, Layer, Redacted } from "effect"
import { hostName, isLoopback } from "../domain/access/hostName.ts"
import { defaultUpstreamSettings, type UpstreamSettings } from "../services/upstream/UpstreamSettings.ts"
import { makeDispatcher, type NetworkProxies, ProviderHttp } from "../services/upstream/ProviderHttp.ts"
import type { FileProvider } from "../domain/upstream/providersFile.ts"
import type { ProviderId } from "../domain/upstream/upstream.ts"
import { followFile } from "../services/followFile.ts"
import type { Provider } from "../services/upstream/Provider.ts"
import { ProvidersFileStatus } from "../services/upstream/ProvidersFileStatus.ts"
import type { ProviderFormat } from "../services/upstream/providers/shared/Descriptor.ts"
import type { OperatorFileUnusable } from "./operatorFile.ts"
import { type KeyedProvider, readProvidersFile } from "./ProvidersFile.ts"
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

const proxiesOf = ({ httpProxy, httpsProxy, noProxy }: UpstreamConfiguration): NetworkProxies | undefined =>
  httpProxy === undefined && httpsProxy === undefined
    ? undefined
    : { http: httpProxy, https: httpsProxy, except: noProxy }

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

/** Warns of a server whose connection others can read. */
const warnOfPlainHttp = (id: ProviderId, { host, protocol }: URL) =>
  protocol === "http:" && !isLoopback(hostName(host))
    ? Effect.logWarning(
        `${id} is called over plain HTTP, so its key and every prompt are readable on the path; use https`,
      )
    : Effect.void

const FORMATS: Readonly<Record<FileProvider["format"], ProviderFormat>> = {
  openai: PROVIDERS.provider1.format,
  mistral: PROVIDERS.provider2.format,
  anthropic: PROVIDERS.provider3.format,
  gemini: PROVIDERS.provider4.format,
}

/** The operator's key. Without one, tenants bring theirs. */
const keyOf = (apiKey: Redacted.Redacted | undefined) => ({
  apiKey: apiKey ?? Redacted.make(""),
  tenantKeys: apiKey === undefined,
})

const makeKeyedProvider = Effect.fnUntraced(function* ({ apiKey, described }: KeyedProvider) {
  const { base_url, format, headers, models, name: id, region } = described
  const baseUrl = new URL(base_url)
  yield* warnOfPlainHttp(id, baseUrl)
  yield* showKeyRefusals(id)
  const defaultModel = models[0]?.name ?? ""
  const provider = yield* makeHttpProvider(FORMATS[format], {
    id,
    baseUrl: baseUrl.href,
    defaultModel,
    headers,
    ...keyOf(apiKey),
  })
  return { ...provider, offers: models, region, server: { address: baseUrl.hostname, port: portOf(baseUrl) } }
})

/** The first providers in the file, how to follow it, and its state. Unchanged providers keep their calls. */
const openProvidersFile = Effect.fnUntraced(function* (file: string) {
  const http = yield* ProviderHttp
  const read = readProvidersFile(file)
  let known = new Map<string, Provider>()
  let problem: string | null = null
  const make = (keyed: ReadonlyArray<KeyedProvider>) =>
    Effect.map(
      Effect.forEach(keyed, (each) => {
        const before = known.get(each.digest)
        const made = before === undefined ? makeKeyedProvider(each) : Effect.succeed(before)
        return Effect.map(made, (provider): readonly [string, Provider] => [each.digest, provider])
      }),
      (made) => {
        known = new Map(made)
        return [...known.values()]
      },
    ).pipe(Effect.provideService(ProviderHttp, http))
  const first = yield* read
  const config = yield* ConfigProvider.ConfigProvider
  return {
    providers: yield* make(first.content),
    status: Effect.sync(() => ({ providers: known.size, last_reload_error: problem })),
    follow: (use: (providers: ReadonlyArray<Provider>) => Effect.Effect<void>) =>
      followFile({
        what: "providers",
        first: first.digest,
        read: Effect.provideService(read, ConfigProvider.ConfigProvider, config),
        take: (keyed: ReadonlyArray<KeyedProvider>) =>
          Effect.as(Effect.flatMap(make(keyed), use), { providers: keyed.length }),
        note: (found) => {
          problem = found
        },
      }),
  }
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
  if (apiKey === undefined && !configured[`${slot}TenantKeys`]) return []
  yield* warnOfPlainHttp(slot, baseUrl)
  yield* showKeyRefusals(slot)
  return [{ ...(yield* makeHttpProvider(PROVIDERS[slot].format, { ...common, ...keyOf(apiKey) })), server, firstToken }]
})

export const layerUpstream = (
  configured: UpstreamConfiguration & Pick<ServerSettings, "redisUrl">,
): Layer.Layer<Upstream, OperatorFileUnusable> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const order = [...new Set([...configured.providerOrder, ...SLOTS])]
      const inSlots = (yield* Effect.forEach(order, (slot) => makeProvider(slot, configured))).flat()
      const withFile = (further: ReadonlyArray<Provider>): ReadonlyArray<Provider> => {
        const all = [...inSlots, ...further]
        return all.length === 0 ? [echo] : all
      }
      const settings = policyOf(configured)
      if (configured.providersFile === undefined) {
        return Upstream.layerNoDeps({ providers: withFile([]), settings })
      }
      const file = yield* openProvidersFile(configured.providersFile)
      return Upstream.layerNoDeps({
        providers: withFile(file.providers),
        settings,
        follow: (replace) => file.follow((further) => replace(withFile(further))),
      }).pipe(Layer.merge(Layer.succeed(ProvidersFileStatus, file.status)))
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
