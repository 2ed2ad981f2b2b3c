/** The sealed proxy, wired. */
import { Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import { HttpApiBuilder, HttpApiScalar } from "effect/http-api"
import { ProxyApi } from "../http/proxy/Api.ts"
import { ProxyLimits } from "../http/proxy/ProxyLimits.ts"
import { SealedHandlers } from "../http/proxy/SealedHandlers.ts"
import { CONSOLE_ROUTES, layerConsole } from "../http/shared/Console.ts"
import { layerOutermost, layerSpanNames } from "../http/shared/Outermost.ts"
import { makeRouteTable } from "../http/shared/RouteTable.ts"
import { systemHandlers } from "../http/shared/systemHandlers.ts"
import { ConcurrencyLimits } from "../services/access/ConcurrencyLimits.ts"
import { Drain } from "../services/lifecycle/Drain.ts"
import { ReadinessProbe } from "../services/lifecycle/ReadinessProbe.ts"
import * as RuntimeMetrics from "../services/lifecycle/RuntimeMetrics.ts"
import { Attestation } from "../services/sealing/Attestation.ts"
import { KeyVault } from "../services/sealing/KeyVault.ts"
import { SealedCompletions } from "../services/sealing/SealedCompletions.ts"
import { SealedExchange } from "../services/sealing/SealedExchange.ts"
import { Sessions } from "../services/sealing/Sessions.ts"
import { proxySettings } from "./config/proxySettings.ts"
import { type Decoded, decodeSettings } from "./config/Setting.ts"
import { layerDiscreetTracer } from "./DiscreetTracer.ts"
import { layerDrainFirst, layerNodeServer } from "./NodeServer.ts"
import { layerRateLimits } from "./SharedState.ts"

export type ProxySettings = Decoded<typeof proxySettings>

/** What the environment says, or every mistake in it. */
export const proxySettingsFromEnvironment = decodeSettings(proxySettings)

/**
 * Longest ciphertext, in bytes, whose request fits into a body of `maxRequestBytes`: base64url takes four characters for
 * three bytes, and the other members need some room.
 */
const ENVELOPE_BYTES = 256
export const maxCiphertextBytes = (maxRequestBytes: number): number =>
  Math.max(0, Math.floor(((maxRequestBytes - ENVELOPE_BYTES) * 3) / 4))

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

/** Everything behind the HTTP surface, given the providers. Closing it overwrites every key. */
const layerServices = (settings: ProxySettings) => {
  const maxRequestBytes = maxCiphertextBytes(settings.maxRequestBytes)
  return SealedCompletions.layer.pipe(
    Layer.provideMerge(SealedExchange.layer({ maxRequestBytes })),
    Layer.provideMerge(
      Sessions.layer({
        ttl: settings.sessionTtl,
        maxRequests: settings.sessionMaxRequests,
        maxLive: settings.sessionMaxLive,
        maxRequestBytes,
        routingTag: settings.routingTag,
      }),
    ),
    Layer.provideMerge(Attestation.layer({ keyFile: settings.attestationKeyFile })),
    Layer.provideMerge(KeyVault.layer),
  )
}

const SystemHandlers = HttpApiBuilder.group(
  ProxyApi,
  "system",
  Effect.fn(function* (handlers) {
    return handlers.handleAll(yield* systemHandlers)
  }),
)

const routesOf = (settings: ProxySettings) =>
  makeRouteTable(ProxyApi, [["GET", "/openapi.json"], ["GET", "/docs"], ...(settings.console ? CONSOLE_ROUTES : [])])

const layerRoutes = (settings: ProxySettings) =>
  Layer.mergeAll(
    HttpApiBuilder.layer(ProxyApi, { openapiPath: "/openapi.json" }).pipe(
      Layer.provide([SealedHandlers, SystemHandlers]),
    ),
    HttpApiScalar.layer(ProxyApi, { path: "/docs", scalar: { withDefaultFonts: false } }),
    settings.console ? layerConsole("proxy") : Layer.empty,
    layerOutermost({
      routes: routesOf(settings),
      maxBodyBytes: settings.maxRequestBytes,
      maxBodyMemory: settings.maxBodyMemory,
      malformedCode: "malformed",
      trustedProxies: settings.trustedProxies,
    }),
  )

/**
 * The sealed proxy: listens, serves, and on closing drains, ends what is open, overwrites its keys and stops. It needs
 * the providers (`Upstream`), and gives the bound address (`HttpServer`) and its identity (`Attestation`).
 */
export const layerProxy = (settings: ProxySettings) =>
  layerDrainFirst.pipe(
    Layer.provideMerge(
      HttpRouter.serve(layerRoutes(settings), { disableLogger: true, disableListenLog: true }).pipe(
        Layer.provide(layerReadiness(settings)),
        Layer.provide([RuntimeMetrics.layer("proxy"), layerSpanNames(routesOf(settings))]),
        Layer.provide([layerRateLimits(settings.redisUrl), ConcurrencyLimits.layer]),
        Layer.provide(
          Layer.succeed(ProxyLimits, {
            init: settings.rateLimitInit,
            completions: settings.rateLimitCompletions,
            concurrent: settings.maxConcurrentPerClient,
          }),
        ),
      ),
    ),
    Layer.provideMerge(layerNodeServer(settings)),
    Layer.provideMerge(layerServices(settings)),
    Layer.provideMerge(Drain.layer({ grace: settings.shutdownGrace })),
    Layer.provide(layerDiscreetTracer),
  )
