import { Clock, DateTime, Effect } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { ADMIN_ROLE, AccessDenied } from "../../domain/access/identity.ts"
import { countIntervals, type Interval, MAX_INTERVALS } from "../../domain/routing/intervals.ts"
import type { RoutingSettings } from "../../domain/routing/routing.ts"
import { routingETag } from "../../domain/routing/routingChecks.ts"
import { effectivePrices } from "../../services/routing/Prices.ts"
import { RoutingConfig } from "../../services/routing/RoutingConfig.ts"
import { RoutingStats } from "../../services/routing/RoutingStats.ts"
import { RoutingTrials } from "../../services/routing/RoutingTrials.ts"
import { GatewayApi } from "../../api/gateway/GatewayApi.ts"
import { CurrentAdmin, CurrentUser, RequestInvalid } from "../../api/gateway/Authorization.ts"
import { layerHandlers } from "../shared/layerHandlers.ts"

const withTag = (settings: RoutingSettings) =>
  Effect.map(Clock.currentTimeMillis, (now) =>
    HttpApiSchema.withHeaders({
      body: { ...settings, effective_prices: effectivePrices(settings, now) },
      headers: { etag: routingETag(settings) },
    }),
  )

interface StatsRequest {
  readonly from?: DateTime.Utc
  readonly to?: DateTime.Utc
  readonly scope?: "tenant" | "all"
  readonly interval?: Interval
}

export const RoutingHandlers = layerHandlers(
  GatewayApi,
  "routing",
  Effect.fn(function* (handlers) {
    const routing = yield* RoutingConfig
    const stats = yield* RoutingStats
    const trials = yield* RoutingTrials

    const report = Effect.fnUntraced(function* (query: StatsRequest) {
      const { roles, tenant } = yield* CurrentUser
      if (query.scope === "all" && !roles.includes(ADMIN_ROLE)) return yield* new AccessDenied()
      const to = query.to ?? (yield* DateTime.now)
      const from = query.from ?? DateTime.subtract(to, { hours: 24 })
      if (!DateTime.isLessThan(from, to)) {
        return yield* new RequestInvalid({ errors: [{ path: "query.from", message: "must be before to" }] })
      }
      const { interval } = query
      if (interval !== undefined) {
        const count = countIntervals(DateTime.toEpochMillis(from), DateTime.toEpochMillis(to), interval)
        if (count > MAX_INTERVALS) {
          const message = `would divide this span into ${count} parts, and ${MAX_INTERVALS} is the most; ask for a shorter span${interval === "hour" ? " or for days" : ""}`
          return yield* new RequestInvalid({ errors: [{ path: "query.interval", message }] })
        }
      }
      return yield* stats.report({ from, to, interval, tenant: query.scope === "all" ? undefined : tenant })
    })

    return handlers.handleAll({
      stats: ({ query }) => report(query),
      config: () => Effect.andThen(CurrentAdmin, Effect.flatMap(routing.current, withTag)),
      putConfig: Effect.fnUntraced(function* ({ headers, payload }) {
        const { subject } = yield* CurrentAdmin
        return yield* withTag(yield* routing.put(payload, { by: subject, ifMatch: headers["if-match"] }))
      }),
      trial: ({ payload }) => Effect.andThen(CurrentAdmin, trials.run(payload)),
    })
  }),
)
