/** The sealed proxy, wired. */
import { Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import { ProxyApi } from "../http/proxy/Api.ts"
import { ProxyLimits } from "../http/proxy/ProxyLimits.ts"
import { SealedHandlers } from "../http/proxy/SealedHandlers.ts"
import { layerOwnSpans } from "../http/shared/requestSpan.ts"
import { layerSurface, layerSystem } from "../http/shared/Surface.ts"
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
import { tlsRule } from "./config/serverSettings.ts"
import { type Decoded, decodeSettings } from "./config/Setting.ts"
import { layerDiscreetTracer } from "./DiscreetTracer.ts"
import { layerDrainFirst, layerNodeServer } from "./NodeServer.ts"
import { layerRateLimits } from "./SharedState.ts"

export type ProxySettings = Decoded<typeof proxySettings>

/** What the environment says, or every mistake in it. */
export const proxySettingsFromEnvironment = decodeSettings(proxySettings, { rules: [tlsRule] })

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

const layerRoutes = (settings: ProxySettings) =>
  layerSurface(ProxyApi, { component: "proxy", settings, malformedCode: "malformed", namesRequest: false }).pipe(
    Layer.provide([SealedHandlers, layerSystem(ProxyApi)]),
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
        Layer.provide([RuntimeMetrics.layer("proxy"), layerOwnSpans]),
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
