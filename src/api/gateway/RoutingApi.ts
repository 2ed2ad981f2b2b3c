import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Interval } from "../../domain/routing/intervals.ts"
import { PricedRoutingSettings, RoutingSettingsInput } from "../../domain/routing/routing.ts"
import { RoutingSettingsInvalid, RoutingSettingsStale } from "../../domain/routing/routingChecks.ts"
import { SpendReport, MAX_SPEND_ITEMS, SpendBy } from "../../domain/routing/spend.ts"
import { BODY_PROBLEMS } from "../problems.ts"
import { AdminOnly, NeededRole } from "./Authorization.ts"
import { time } from "../../domain/timeText.ts"
import { ProviderHealthReport } from "../../domain/routing/health.ts"
import { RoutingStatsReport } from "../../domain/routing/savings.ts"
import { scope } from "./lists.ts"
import { described } from "../described.ts"

const SettingsWithTag = HttpApiSchema.WithHeaders(PricedRoutingSettings, { etag: Schema.String })

export class RoutingApi extends HttpApiGroup.make("routing")
  .add(
    HttpApiEndpoint.get("stats", "/stats", {
      query: {
        from: Schema.optionalKey(time("An RFC 3339 time, inclusive; default: 24 hours before `to`.")),
        to: Schema.optionalKey(time("An RFC 3339 time, exclusive; default: now.")),
        scope,
        interval: Schema.optionalKey(Interval.annotate({ description: "Adds the sums of every UTC hour or day." })),
      },
      success: RoutingStatsReport,
    }).annotateMerge(
      described(
        "What routing saved",
        "For the caller's tenant; administrators may ask for `scope=all`. With `interval`, `over_time` has the sums per UTC hour or day, for a period of at most 31 days of hours, or as many days.",
      ),
    ),
    HttpApiEndpoint.get("spend", "/spend", {
      query: {
        by: SpendBy,
        from: Schema.optionalKey(time("An RFC 3339 time, rounded down to a UTC hour; default: 24 hours before `to`.")),
        to: Schema.optionalKey(time("An RFC 3339 time, rounded up to a UTC hour; default: now.")),
        limit: Schema.optionalKey(
          Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_SPEND_ITEMS })),
        ).annotateKey({ description: `Items at most: 1 to ${MAX_SPEND_ITEMS}, default 100.` }),
      },
      success: SpendReport,
    })
      .annotate(NeededRole, "manage")
      .annotateMerge(
        described(
          "Who spent what",
          "Calls of the caller's tenant by key, agent, model or label, the dearest first. `total` is the sum of `items` and `rest`.",
        ),
      ),
    HttpApiEndpoint.get("providers", "/providers", {
      query: { scope },
      success: ProviderHealthReport,
    }).annotateMerge(
      described(
        "Whether the providers can be called",
        "The circuit of each configured provider as this process knows it, and the caller's latest failure.",
      ),
    ),
    HttpApiEndpoint.get("config", "/config", {
      success: SettingsWithTag,
    })
      .middleware(AdminOnly)
      .annotateMerge(
        described(
          "Read the routing configuration",
          "`effective_prices` has the current prices of every target and the baseline; shipped prices come with date and source.",
        ),
      ),
    HttpApiEndpoint.put("putConfig", "/config", {
      headers: {
        "if-match": Schema.optionalKey(
          Schema.String.annotate({ description: "The ETag that was read. Refused if there is a newer version." }),
        ),
      },
      payload: RoutingSettingsInput,
      success: SettingsWithTag,
      error: [RoutingSettingsStale, ...BODY_PROBLEMS, RoutingSettingsInvalid],
    })
      .middleware(AdminOnly)
      .annotateMerge(
        described(
          "Replace the routing configuration",
          "Checked as a whole, then in force within a second. Earlier versions are kept. `effective_prices` is ignored; set prices in `targets`.",
        ),
      ),
  )
  .prefix("/api/v1/routing")
  .annotateMerge(
    OpenApi.annotations({ title: "Routing", description: "Which model serves which call, and what that saved." }),
  ) {}
