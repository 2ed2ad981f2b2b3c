/** The agent gateway, wired. */
import { Effect, Exit, Layer, ManagedRuntime, Scope } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { layerAdminOnly, layerAuthorization } from "../http/gateway/Admission.ts"
import { AgentsHandlers } from "../http/gateway/AgentsHandlers.ts"
import { GatewayApi } from "../http/gateway/Api.ts"
import { GatewayLimits } from "../http/gateway/GatewayLimits.ts"
import { JobsHandlers } from "../http/gateway/JobsHandlers.ts"
import { MALFORMED } from "../http/gateway/problems.ts"
import { RoutingHandlers } from "../http/gateway/RoutingHandlers.ts"
import { layerOwnSpans } from "../http/shared/requestSpan.ts"
import { layerSurface, layerSystem } from "../http/shared/Surface.ts"
import { ConcurrencyLimits } from "../services/access/ConcurrencyLimits.ts"
import { Tokens } from "../services/access/Tokens.ts"
import { Agents } from "../services/agents/Agents.ts"
import { JobLeases } from "../services/jobs/JobLeases.ts"
import { JobQueue } from "../services/jobs/JobQueue.ts"
import * as JobRetention from "../services/jobs/JobRetention.ts"
import * as JobRunner from "../services/jobs/JobRunner.ts"
import { Jobs } from "../services/jobs/Jobs.ts"
import { JobSettings } from "../services/jobs/JobSettings.ts"
import * as Modes from "../services/jobs/modes/Modes.ts"
import { Drain } from "../services/lifecycle/Drain.ts"
import { TlsStatus } from "../services/lifecycle/TlsStatus.ts"
import { Ledger } from "../services/routing/Ledger.ts"
import { Router } from "../services/routing/Router.ts"
import { RoutingConfig } from "../services/routing/RoutingConfig.ts"
import { RoutingStats } from "../services/routing/RoutingStats.ts"
import { gatewayRules, type GatewaySettings, gatewaySettings } from "./config/gatewaySettings.ts"
import { checkRules, decodeSettings } from "./config/Setting.ts"
import * as Database from "./database/Database.ts"
import { layerDiscreetTracer } from "./DiscreetTracer.ts"
import { forDevelopment, tokenSettingsOf } from "./GatewayAccess.ts"
import { layerReadiness } from "./GatewayReadiness.ts"
import { layerLogging } from "./Logging.ts"
import { layerDrainFirst, layerNodeServer } from "./NodeServer.ts"
import { urlOf } from "./serverUrl.ts"
import { layerRateLimits } from "./SharedState.ts"
import { layerTelemetry } from "./Telemetry.ts"
import { layerUpstream, policyOf } from "./Upstream.ts"

export type { GatewaySettings } from "./config/gatewaySettings.ts"

/** `given`, and for the rest what the environment says; or every mistake in them. */
export const gatewaySettingsWith = (given: Partial<GatewaySettings>) =>
  decodeSettings(gatewaySettings, { given, rules: gatewayRules })

/** What the environment says, or every mistake in it. */
export const gatewaySettingsFromEnvironment = gatewaySettingsWith({})

const layerDatabase = ({ databaseConnections, databaseUrl }: GatewaySettings) =>
  databaseUrl.kind === "sqlite"
    ? Database.layerSqlite({ filename: databaseUrl.filename })
    : Database.layerPostgres({ url: databaseUrl.url, maxConnections: databaseConnections })

/**
 * The same until the shutdown begins. Jobs in flight then go back at once, for other processes to take, and none is
 * begun that would be broken off while requests in flight finish.
 */
const untilDraining = <E, R>(layer: Layer.Layer<never, E, R>) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const drain = yield* Drain
      const scope = yield* Scope.fork(yield* Effect.scope)
      yield* Layer.buildWithScope(layer, scope)
      yield* drain.begun.pipe(Effect.andThen(Effect.uninterruptible(Scope.close(scope, Exit.void))), Effect.forkScoped)
    }),
  )

/** Everything behind the HTTP surface, given the providers. Closing it puts jobs in flight back, then closes the database. */
const layerServices = (settings: GatewaySettings) =>
  Layer.merge(untilDraining(JobRunner.layer), JobRetention.layer).pipe(
    Layer.provide(Modes.layer),
    Layer.provide(Router.layer),
    Layer.provideMerge(Layer.mergeAll(Jobs.layer, JobLeases.layer, RoutingStats.layer)),
    Layer.provideMerge(Layer.mergeAll(Agents.layer, JobQueue.layer, Ledger.layer)),
    Layer.provideMerge(RoutingConfig.layer(policyOf(settings))),
    Layer.provideMerge(layerDatabase(settings)),
    Layer.provideMerge(
      Layer.succeed(JobSettings, {
        ...JobSettings.defaultValue(),
        workers: settings.jobWorkers,
        maxAttempts: settings.jobMaxAttempts,
        retention: settings.jobRetention,
      }),
    ),
  )

const layerRoutes = (settings: GatewaySettings) =>
  layerSurface(GatewayApi, { component: "gateway", settings, malformedCode: MALFORMED, namesRequest: true }).pipe(
    Layer.provide([AgentsHandlers, JobsHandlers, RoutingHandlers, layerSystem(GatewayApi)]),
    Layer.provide([layerAuthorization, layerAdminOnly]),
  )

/**
 * The agent gateway: listens, serves, works on jobs, and on closing drains, puts jobs in flight back into the queue,
 * closes the database and stops. It needs the providers (`Upstream`), and gives the bound address (`HttpServer`).
 */
export const layerGateway = (given: GatewaySettings) =>
  Layer.unwrap(
    Effect.gen(function* () {
      // Whoever put them together by hand learns of mistakes here, before there is a database.
      yield* checkRules(given, gatewayRules)
      const settings = forDevelopment(given)
      return layerDrainFirst.pipe(
        Layer.provideMerge(
          HttpRouter.serve(layerRoutes(settings), { disableLogger: true, disableListenLog: true }).pipe(
            Layer.provide([layerReadiness(settings), layerOwnSpans]),
            Layer.provide([
              layerRateLimits(settings.redisUrl),
              ConcurrencyLimits.layer,
              Tokens.layer(tokenSettingsOf(settings)),
            ]),
            Layer.provide(
              Layer.succeed(GatewayLimits, {
                read: settings.rateLimitRead,
                write: settings.rateLimitWrite,
                execute: settings.rateLimitExecute,
                waiting: settings.maxWaitingPerTenant,
              }),
            ),
          ),
        ),
        Layer.provideMerge(layerNodeServer(settings)),
        Layer.provideMerge(layerServices(settings)),
        Layer.provideMerge(Drain.layer({ grace: settings.shutdownGrace })),
        Layer.provide(layerDiscreetTracer),
      )
    }),
  )

const layer = (overrides: Partial<GatewaySettings> = {}) =>
  Layer.unwrap(
    Effect.map(gatewaySettingsWith(overrides), (settings) =>
      layerGateway(settings).pipe(
        Layer.provide(layerUpstream(settings)),
        Layer.provide(layerTelemetry(settings, "sealgate-gateway")),
        Layer.provide(layerLogging(settings)),
      ),
    ),
  )

/** A gateway that runs. */
export interface RunningGateway {
  /** Where it listens, as seen from this machine. */
  readonly url: string
  /** Drains, puts jobs in flight back, closes the database. */
  readonly stop: () => Promise<void>
}

const start = async (overrides: Partial<GatewaySettings> = {}): Promise<RunningGateway> => {
  const runtime = ManagedRuntime.make(layer(overrides))
  const url = Effect.gen(function* () {
    const { address } = yield* HttpServer.HttpServer
    return urlOf(address, (yield* yield* TlsStatus).mode !== "off")
  })
  return { url: await runtime.runPromise(url), stop: () => runtime.dispose() }
}

/** The agent gateway, to be embedded. Settings come from the environment; what is given here wins. */
export const Gateway = {
  /** As a layer with the configured providers, logging and telemetry. It stops when its scope closes. */
  layer,
  /** As a layer that needs `Upstream`, for providers of your own; it takes all settings. */
  layerNoDeps: layerGateway,
  /** For programs without Effect. Rejects when the configuration has mistakes or the port is taken. */
  start,
}
