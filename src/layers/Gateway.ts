import { Effect, Layer } from "effect"
import { checkRules } from "../domain/problems/configuration.ts"
import { layerAdminOnly, layerAuthorization } from "../http/gateway/Admission.ts"
import { AgentsHandlers } from "../http/gateway/AgentsHandlers.ts"
import { GatewayApi } from "../api/gateway/GatewayApi.ts"
import { GATEWAY_JSON_LIMITS, gatewayKindOf, GatewayLimits } from "../http/gateway/GatewayLimits.ts"
import { CallsHandlers } from "../http/gateway/calls/CallsHandlers.ts"
import { vendorForm } from "../http/gateway/calls/vendorErrors.ts"
import { wrongBase } from "../http/gateway/calls/wrongBase.ts"
import { ChangesHandlers } from "../http/gateway/ChangesHandlers.ts"
import { AuditHandlers } from "../http/gateway/AuditHandlers.ts"
import { BudgetsHandlers } from "../http/gateway/BudgetsHandlers.ts"
import { JobsHandlers } from "../http/gateway/JobsHandlers.ts"
import { KeysHandlers } from "../http/gateway/KeysHandlers.ts"
import { LedgerHandlers } from "../http/gateway/LedgerHandlers.ts"
import { ThreadsHandlers } from "../http/gateway/ThreadsHandlers.ts"
import { WebhooksHandlers } from "../http/gateway/WebhooksHandlers.ts"
import { A2aHandlers } from "../http/gateway/a2a/A2aHandlers.ts"
import { a2aForm } from "../http/gateway/a2a/rpcErrors.ts"
import { McpHandlers } from "../http/gateway/mcp/McpHandlers.ts"
import { RequestInvalid } from "../api/gateway/Authorization.ts"
import { layerRefusals } from "../http/shared/renderProblems.ts"
import { SchedulesHandlers } from "../http/gateway/SchedulesHandlers.ts"
import { SecretsHandlers } from "../http/gateway/SecretsHandlers.ts"
import { RoutingHandlers } from "../http/gateway/RoutingHandlers.ts"
import { layerSystem } from "../http/shared/Operations.ts"
import { GATEWAY_EXAMPLES } from "../http/gateway/examples.ts"
import { layerSurface } from "../http/shared/Surface.ts"
import { ConcurrencyLimits } from "../services/access/ConcurrencyLimits.ts"
import { Audit } from "../services/access/Audit.ts"
import { GatewayKeys } from "../services/access/GatewayKeys.ts"
import { layerProviderKeys, layerRevealSecret, Secrets } from "../services/access/Secrets.ts"
import { layerOperatorBox } from "../services/access/secretBox.ts"
import { TenantBudgets } from "../services/access/TenantBudgets.ts"
import { Tokens } from "../services/access/Tokens.ts"
import { Agents } from "../services/agents/Agents.ts"
import { Drain } from "../services/lifecycle/Drain.ts"
import { JobWrites } from "../services/jobs/JobWrites.ts"
import { JobQueue } from "../services/jobs/JobQueue.ts"
import { layerJobRetention } from "../services/jobs/JobRetention.ts"
import { layerJobRunner } from "../services/jobs/JobRunner.ts"
import { layerScheduler } from "../services/jobs/layerScheduler.ts"
import { Schedules } from "../services/jobs/Schedules.ts"
import { Threads } from "../services/jobs/Threads.ts"
import { Jobs } from "../services/jobs/Jobs.ts"
import { JobSettings } from "../services/jobs/JobSettings.ts"
import { layerLiveSteps } from "../services/jobs/LiveSteps.ts"
import * as Modes from "../services/jobs/modes/ModePrograms.ts"
import type { OwnMode } from "../services/jobs/modes/own/defineMode.ts"
import { layerOwnModes } from "../services/jobs/modes/own/OwnModes.ts"
import { layerBudgetRetention } from "../services/budgets/BudgetRetention.ts"
import { Budgets } from "../services/budgets/Budgets.ts"
import { Ledger } from "../services/routing/Ledger.ts"
import { LedgerExport } from "../services/routing/LedgerExport.ts"
import { quotasOf, TenantQuotas } from "../services/access/TenantQuotas.ts"
import { CachedAnswers } from "../services/routing/CachedAnswers.ts"
import { layerLedgerRetention } from "../services/routing/LedgerRetention.ts"
import { layerSpendPeriods } from "../services/routing/SpendPeriods.ts"
import { Router } from "../services/routing/Router.ts"
import { RoutingConfig } from "../services/routing/RoutingConfig.ts"
import { RoutingStats } from "../services/routing/RoutingStats.ts"
import { Spend } from "../services/routing/Spend.ts"
import { OpenedMemory } from "../services/sealing/OpenedMemory.ts"
import { layerTenantChanges } from "../services/TenantChanges.ts"
import { ToolNetwork } from "../services/tools/ToolNetwork.ts"
import { layerTools } from "../services/tools/Tools.ts"
import { layerWebhookDelivery } from "../services/webhooks/layerWebhookDelivery.ts"
import { PushConfigs } from "../services/webhooks/PushConfigs.ts"
import { Webhooks } from "../services/webhooks/Webhooks.ts"
import { gatewayRules, type GatewaySettings, gatewaySettings } from "./config/gatewaySettings.ts"
import { hostWithoutTls } from "./config/postgresUrl.ts"
import { decodeSettings } from "./config/Setting.ts"
import { tokenSettingsOf } from "./config/tokenSettings.ts"
import { layerPostgres, layerSqlite } from "./database/Database.ts"
import { forDevelopment } from "./GatewayAccess.ts"
import { layerMcpCommands } from "./McpCommandsFile.ts"
import { layerReadiness } from "./GatewayReadiness.ts"
import { layerRateLimits } from "../server/redis/SharedState.ts"
import { layerOperatorListener } from "./OperatorListener.ts"
import { layerSealedPort } from "./SealedPort.ts"
import { embeddable, serve, start } from "./serve.ts"
import { policyOf } from "./Providers.ts"

export type { GatewaySettings } from "./config/gatewaySettings.ts"

interface GatewayStart extends Partial<GatewaySettings> {
  readonly modes?: ReadonlyArray<OwnMode>
}

const layerDatabase = ({ databaseConnections, databaseUrl }: GatewaySettings) =>
  databaseUrl.kind === "sqlite"
    ? layerSqlite({ filename: databaseUrl.filename })
    : layerPostgres({ url: databaseUrl.url, maxConnections: databaseConnections })

const warnWithoutTls = ({ databaseUrl }: GatewaySettings) => {
  const host = databaseUrl.kind === "postgres" ? hostWithoutTls(databaseUrl.url) : undefined
  return host === undefined
    ? Effect.void
    : Effect.logWarning(
        `the connection to Postgres at ${host} is not encrypted; add sslmode=require to DATABASE_URL (the certificate is ` +
          "verified; NODE_EXTRA_CA_CERTS adds its authority), or sslmode=disable if the network is trusted",
      )
}

/** The services behind HTTP. Closing them requeues jobs in flight, then closes the database. */
const layerServices = (settings: GatewaySettings) =>
  Layer.mergeAll(
    layerJobRunner,
    layerJobRetention,
    layerScheduler,
    layerWebhookDelivery,
    layerLedgerRetention(settings.ledgerRetention),
    layerBudgetRetention,
    layerSpendPeriods,
  ).pipe(
    Layer.provide(Layer.provide(Modes.layer, layerRevealSecret)),
    Layer.provideMerge(Router.layer),
    Layer.provideMerge(layerProviderKeys),
    Layer.provide(Layer.provideMerge(layerTools, ToolNetwork.layer({ allowed: settings.toolPrivateNetworks }))),
    Layer.provide(layerMcpCommands(settings.mcpCommandsFile)),
    Layer.provideMerge(Layer.merge(Threads.layer, Schedules.layer)),
    Layer.provideMerge(
      Layer.mergeAll(
        Layer.provide(Jobs.layer, Modes.layerCostBound),
        JobWrites.layer,
        RoutingStats.layer,
        Spend.layer,
        LedgerExport.layer,
      ),
    ),
    Layer.provideMerge(Layer.merge(Budgets.layer, TenantBudgets.layer)),
    Layer.provideMerge(
      Layer.mergeAll(
        Agents.layer,
        JobQueue.layer,
        Ledger.layer,
        GatewayKeys.layer,
        Audit.layer,
        Webhooks.layer,
        Secrets.layer,
        PushConfigs.layer,
      ),
    ),
    Layer.provideMerge(layerOperatorBox(settings.secretsKey)),
    Layer.provideMerge(RoutingConfig.layer(policyOf(settings))),
    Layer.provideMerge(Layer.merge(layerLiveSteps, layerTenantChanges)),
    Layer.provideMerge(layerDatabase(settings)),
    Layer.provide(
      Layer.succeed(
        TenantQuotas,
        quotasOf({ agents: settings.maxAgentsPerTenant, openJobs: settings.maxJobsPerTenant }),
      ),
    ),
    Layer.provideMerge(
      Layer.succeed(JobSettings, {
        ...JobSettings.defaultValue(),
        workers: settings.jobWorkers,
        workersPerTenant: Math.max(1, Math.floor((settings.jobWorkers * settings.jobTenantPercent) / 100)),
        weights: new Map(settings.tenantWeights.map(({ tenant, weight }) => [tenant, weight])),
        retryFor: settings.jobRetryFor,
        retention: settings.jobRetention,
      }),
    ),
  )

const layerRoutes = (settings: GatewaySettings) => {
  const limits = {
    read: settings.rateLimitRead,
    write: settings.rateLimitWrite,
    execute: settings.rateLimitExecute,
    ofTenant: {
      read: settings.rateLimitTenantRead ?? settings.rateLimitRead,
      write: settings.rateLimitTenantWrite ?? settings.rateLimitWrite,
      execute: settings.rateLimitTenantExecute ?? settings.rateLimitExecute,
    },
    calls: settings.maxCallsPerTenant,
    waiting: settings.maxWaitingPerTenant,
  }
  return layerSurface(GatewayApi, {
    component: "gateway",
    examples: GATEWAY_EXAMPLES,
    settings,
    jsonLimits: GATEWAY_JSON_LIMITS,
    continuesTraces: true,
    kindOf: gatewayKindOf(limits),
    malformed: (why) => new RequestInvalid(why),
    namesRequest: true,
    insteadOf: wrongBase,
    errorForm: (path) => vendorForm(path) ?? a2aForm(path),
  }).pipe(
    Layer.provide([
      AgentsHandlers,
      JobsHandlers,
      ThreadsHandlers,
      SchedulesHandlers,
      RoutingHandlers,
      KeysHandlers,
      SecretsHandlers,
      LedgerHandlers,
      BudgetsHandlers,
      AuditHandlers,
      WebhooksHandlers,
      ChangesHandlers,
      McpHandlers,
      A2aHandlers,
      Layer.provide(CallsHandlers, [
        OpenedMemory.layer({ maxBytes: settings.maxBodyMemory }),
        CachedAnswers.layer({
          ttl: settings.cacheTtl,
          maxBytes: settings.cacheMaxBytes,
          maxTenantBytes: settings.cacheMaxTenantBytes,
        }),
      ]),
      layerSystem(GatewayApi),
    ]),
    Layer.provide([layerAuthorization, layerAdminOnly, layerRefusals]),
    Layer.provide(Layer.succeed(GatewayLimits, limits)),
  )
}

/** On closing it drains, requeues jobs in flight and closes the database. Provides the bound address (`HttpServer`). */
const layerGateway = (given: GatewaySettings) =>
  Layer.unwrap(
    Effect.gen(function* () {
      // Embedders can pass settings that were never checked. Check before a database is opened.
      yield* checkRules(given, gatewayRules)
      const settings = forDevelopment(given)
      yield* warnWithoutTls(settings)
      const drain = Drain.layer({ grace: settings.shutdownGrace })
      return serve(
        settings,
        {
          routes: layerRoutes(settings),
          shared: layerReadiness(settings).pipe(
            Layer.provideMerge(
              Layer.mergeAll(
                layerRateLimits(settings.redisUrl),
                ConcurrencyLimits.layer,
                Tokens.layer(tokenSettingsOf(settings, settings.jwtUsersAreTenants)),
              ),
            ),
          ),
          services: layerServices(settings),
        },
        Layer.merge(layerOperatorListener(settings), layerSealedPort(settings, drain)),
        drain,
      )
    }),
  )

const embedded = embeddable({
  name: "sealgate-gateway",
  settings: (given: Partial<GatewaySettings> = {}) => decodeSettings(gatewaySettings, { given, rules: gatewayRules }),
  layerNoDeps: layerGateway,
})

/** The agent gateway, to be embedded. Settings passed here override the environment. */
export const Gateway = {
  ...embedded,
  /** Own modes, as a layer to provide to the gateway's. Throws if two have the same name. */
  modes: layerOwnModes,
  /** For programs without a runtime of their own. Rejects if the configuration has mistakes or the port is taken. */
  start: async ({ modes = [], ...given }: GatewayStart = {}) =>
    start(Layer.provide(embedded.layer(given), layerOwnModes(modes))),
}
