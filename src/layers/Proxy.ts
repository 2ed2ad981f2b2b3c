import { Effect, Layer } from "effect"
import { isLoopback } from "../domain/access/hostName.ts"
import { JSON_LIMITS } from "../domain/json/iJson.ts"
import { ProxyApi } from "../api/proxy/ProxyApi.ts"
import { Malformed } from "../api/problems.ts"
import { ModelsHandlers } from "../http/proxy/ModelsHandlers.ts"
import { proxyKindOf } from "../http/proxy/ProxyLimits.ts"
import { vendorRefusal } from "../http/proxy/vendorPaths.ts"
import { layerRefusals } from "../http/shared/renderProblems.ts"
import { SealedHandlers } from "../http/proxy/SealedHandlers.ts"
import { layerSystem } from "../http/shared/Operations.ts"
import { PROXY_EXAMPLES } from "../http/proxy/examples.ts"
import { layerSurface } from "../http/shared/Surface.ts"
import { Callers } from "../services/access/Callers.ts"
import { ConcurrencyLimits } from "../services/access/ConcurrencyLimits.ts"
import { ReadinessProbe } from "../services/lifecycle/ReadinessProbe.ts"
import { layerRuntimeMetrics } from "../services/lifecycle/RuntimeMetrics.ts"
import type { Drain } from "../services/lifecycle/Drain.ts"
import { Answering } from "../services/sealing/Answering.ts"
import { KeyVault } from "../services/sealing/KeyVault.ts"
import { OpenedMemory } from "../services/sealing/OpenedMemory.ts"
import { RequestIds } from "../services/sealing/RequestIds.ts"
import { SealedCompletions } from "../services/sealing/SealedCompletions.ts"
import { RequestOpener } from "../services/sealing/RequestOpener.ts"
import { Sessions } from "../services/sealing/Sessions.ts"
import { proxyRules, type ProxySettings, proxySettings } from "./config/proxySettings.ts"
import { decodeSettings } from "./config/Setting.ts"
import { checksTokens, tokenSettingsOf } from "./config/tokenSettings.ts"
import type { ListenSettings } from "../server/NodeServer.ts"
import { layerRateLimits } from "../server/redis/SharedState.ts"
import { withEvidence } from "./evidence/EvidenceMode.ts"
import { layerOperatorListener } from "./OperatorListener.ts"
import { embeddable, serve } from "./serve.ts"

export type { ProxySettings } from "./config/proxySettings.ts"

/** Room for the members of a sealed request besides its ciphertext. */
const ENVELOPE_BYTES = 2048

/** Returns the longest ciphertext in bytes that fits a body: base64url takes four characters for three bytes. */
const maxCiphertextBytes = (maxRequestBytes: number): number =>
  Math.max(0, Math.floor(((maxRequestBytes - ENVELOPE_BYTES) * 3) / 4))

/** Request ids remembered at once, at some 150 bytes each. With sessions of five minutes, this allows 1600 a second. */
const MAX_CLAIMS = 500_000

const layerReadiness = (settings: ProxySettings) =>
  Layer.effect(
    ReadinessProbe,
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const vault = yield* KeyVault
      return yield* ReadinessProbe.make(
        Effect.map(sessions.live, (live) => ({
          ok: true,
          members: { key_storage: vault.kind, sessions: { live, max: settings.sessionMaxLive } },
        })),
      )
    }),
  )

/** Authenticates callers. Warns if the proxy serves other machines without authentication. */
const layerCallers = (settings: ProxySettings) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { required } = yield* Callers
      if (required || (isLoopback(settings.host) && settings.trustedProxies.length === 0)) return
      yield* Effect.logWarning(
        "anyone who can reach this proxy can use its providers; set CALLER_KEYS_FILE or JWT_… to serve known callers only",
      )
    }),
  ).pipe(
    Layer.provideMerge(
      Callers.layer({
        keysFile: settings.callerKeysFile,
        // At the proxy, a token without a tenant always counts for its user, unlike at the gateway.
        tokens: checksTokens(settings) ? tokenSettingsOf(settings, true) : undefined,
        perMinute: settings.rateLimitCaller,
        inFlight: settings.maxConcurrentPerCaller,
        refusedPerMinute: settings.rateLimitRefused,
      }),
    ),
  )

/** The callers of a proxy, and the service that answers them. */
interface Behind<E, R, R2> {
  readonly callers: Layer.Layer<Callers, E, R>
  readonly answering: Layer.Layer<Answering, never, R2>
}

/** The services behind HTTP. Closing them overwrites every key. */
const layerServices = <E, R, R2>(settings: ProxySettings, { answering, callers }: Behind<E, R, R2>) => {
  const maxRequestBytes = maxCiphertextBytes(settings.maxRequestBytes)
  return SealedCompletions.layer.pipe(
    Layer.provide(answering),
    Layer.provideMerge(RequestOpener.layer({ maxRequestBytes })),
    Layer.provideMerge(OpenedMemory.layer({ maxBytes: settings.maxBodyMemory })),
    Layer.provideMerge(RequestIds.layer({ sessionTtl: settings.sessionTtl, max: MAX_CLAIMS })),
    Layer.provideMerge(
      withEvidence(settings, (configuration) =>
        Sessions.layer({
          ttl: settings.sessionTtl,
          maxRequests: settings.sessionMaxRequests,
          maxLive: settings.sessionMaxLive,
          maxClaims: MAX_CLAIMS,
          maxRequestBytes,
          routingTag: settings.routingTag,
          configuration,
        }),
      ),
    ),
    Layer.provideMerge(KeyVault.layer),
    Layer.provideMerge(callers),
    Layer.provideMerge(Layer.merge(layerRateLimits(settings.redisUrl), ConcurrencyLimits.layer)),
  )
}

const layerRoutes = (settings: ProxySettings) => {
  const kindOf = proxyKindOf({
    read: settings.rateLimitRead,
    init: settings.rateLimitInit,
    completions: settings.rateLimitCompletions,
    concurrent: settings.maxConcurrentPerClient,
  })
  return layerSurface(ProxyApi, {
    component: "proxy",
    examples: PROXY_EXAMPLES,
    settings,
    jsonLimits: JSON_LIMITS,
    // Headers outside the seal are readable on the path.
    continuesTraces: false,
    kindOf,
    malformed: (why) => new Malformed(why),
    namesRequest: false,
    insteadOf: vendorRefusal,
  }).pipe(Layer.provide([SealedHandlers, ModelsHandlers, layerSystem(ProxyApi)]), Layer.provide(layerRefusals))
}

/** A sealed proxy for the given callers. */
export const layerProxyOf = <E, R, R2>(
  settings: ProxySettings & Pick<ListenSettings, "named">,
  behind: Behind<E, R, R2>,
  drain?: Layer.Layer<Drain>,
) =>
  serve(
    settings,
    {
      routes: layerRoutes(settings),
      shared: Layer.merge(layerReadiness(settings), layerRuntimeMetrics("proxy")),
      services: layerServices(settings, behind),
    },
    layerOperatorListener(settings),
    drain,
  )

/** On closing it drains and overwrites its keys. Provides the bound address (`HttpServer`) and its identity. */
const layerProxy = (settings: ProxySettings) =>
  layerProxyOf(settings, { callers: layerCallers(settings), answering: Answering.layerUpstream })

/** The sealed proxy, to be embedded. Settings passed here override the environment. */
export const SealedProxy = embeddable({
  name: "sealgate-proxy",
  settings: (given: Partial<ProxySettings> = {}) => decodeSettings(proxySettings, { given, rules: proxyRules }),
  layerNoDeps: layerProxy,
})
