import { Clock, DateTime, Effect } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import { countIntervals, type Interval, MAX_INTERVALS } from "../../domain/routing/intervals.ts"
import type { RoutingSettings } from "../../domain/routing/routing.ts"
import { routingETag } from "../../domain/routing/routingChecks.ts"
import { Audit } from "../../services/access/Audit.ts"
import { effectivePrices } from "../../services/routing/Prices.ts"
import { RoutingConfig } from "../../services/routing/RoutingConfig.ts"
import { Spend } from "../../services/routing/Spend.ts"
import { type LastFailure, RoutingStats } from "../../services/routing/RoutingStats.ts"
import { type ProviderStatus, Upstream } from "../../services/upstream/Upstream.ts"
import type { ProviderHealth } from "../../domain/routing/health.ts"
import { GatewayApi } from "../../api/gateway/GatewayApi.ts"
import { CurrentAdmin, RequestInvalid } from "../../api/gateway/Authorization.ts"
import { layerHandlers } from "../shared/layerHandlers.ts"
import { unlimitedUser, tenantIn } from "./scopes.ts"

const withTag = (settings: RoutingSettings) =>
  Effect.map(Clock.currentTimeMillis, (now) =>
    HttpApiSchema.withHeaders({
      body: { ...settings, effective_prices: effectivePrices(settings, now) },
      headers: { etag: routingETag(settings) },
    }),
  )

/** A provider's state. Only administrators see what concerns the operator's account, or calls of other tenants. */
const healthOf =
  (failures: ReadonlyArray<LastFailure>, isAdmin: boolean) =>
  ({ circuit, fault, model, provider, region, targets }: ProviderStatus): ProviderHealth => {
    const failure = failures.find((failure) => failure.provider === provider)
    return {
      provider,
      model,
      ...withoutUndefined({ region }),
      circuit,
      fault:
        fault === undefined
          ? null
          : {
              since: DateTime.makeUnsafe(fault.since),
              model: fault.model,
              outcome: fault.outcome,
              lasting: fault.lasting,
              ...(isAdmin ? { host: fault.host ?? null, reason: fault.reason ?? null, fix: fault.fix } : {}),
            },
      last_failure: failure === undefined ? null : { at: failure.at, model: failure.model, outcome: failure.outcome },
      ...(isAdmin ? { models: targets.map(({ circuit, model }) => ({ model, circuit })) } : {}),
    }
  }

/** Items of a report of spend, if the request sets no limit. */
const SPEND_ITEMS = 100

interface Span {
  readonly from?: DateTime.Utc
  readonly to?: DateTime.Utc
}

/** The requested time span; by default the last 24 hours. */
const spanOf = Effect.fnUntraced(function* (query: Span) {
  const to = query.to ?? (yield* DateTime.now)
  const from = query.from ?? DateTime.subtract(to, { hours: 24 })
  if (DateTime.isLessThan(from, to)) return { from, to }
  return yield* new RequestInvalid({ errors: [{ path: "query.from", message: "must be before to" }] })
})

interface StatsRequest extends Span {
  readonly scope?: "tenant" | "all"
  readonly interval?: Interval
}

export const RoutingHandlers = layerHandlers(
  GatewayApi,
  "routing",
  Effect.fn(function* (handlers) {
    const routing = yield* RoutingConfig
    const stats = yield* RoutingStats
    const spend = yield* Spend
    const audit = yield* Audit

    const upstream = yield* Upstream

    const providers = Effect.fnUntraced(function* (scope?: "tenant" | "all") {
      const { isAdmin, tenant } = yield* tenantIn(scope)
      const failures = yield* stats.lastFailures(tenant)
      return { items: (yield* upstream.status).map(healthOf(failures, isAdmin)) }
    })

    const report = Effect.fnUntraced(function* (query: StatsRequest) {
      const { tenant } = yield* tenantIn(query.scope)
      const { from, to } = yield* spanOf(query)
      const { interval } = query
      if (interval !== undefined) {
        const count = countIntervals(DateTime.toEpochMillis(from), DateTime.toEpochMillis(to), interval)
        if (count > MAX_INTERVALS) {
          const message = `would divide this span into ${count} parts, and ${MAX_INTERVALS} is the most; ask for a shorter span${interval === "hour" ? " or for days" : ""}`
          return yield* new RequestInvalid({ errors: [{ path: "query.interval", message }] })
        }
      }
      return yield* stats.report({ from, to, interval, tenant })
    })

    return handlers.handleAll({
      stats: ({ query }) => report(query),
      spend: Effect.fnUntraced(function* ({ query: { by, limit = SPEND_ITEMS, ...span } }) {
        const { tenant } = yield* unlimitedUser
        return yield* spend.report({ by, limit, tenant, ...(yield* spanOf(span)) })
      }),
      providers: ({ query }) => providers(query.scope),
      config: () => Effect.andThen(CurrentAdmin, Effect.flatMap(routing.current, withTag)),
      putConfig: Effect.fnUntraced(function* ({ headers, payload }) {
        const admin = yield* CurrentAdmin
        const change = routing.put(payload, { by: admin.subject, ifMatch: headers["if-match"] })
        return yield* withTag(yield* audit.noted(admin, "routing.put", change, ({ version }) => String(version)))
      }),
    })
  }),
)
