import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { AccessDenied } from "../../domain/access/identity.ts"
import { Interval } from "../../domain/routing/intervals.ts"
import { RoutingSettingsInput } from "../../domain/routing/routing.ts"
import { RoutingSettingsInvalid, RoutingSettingsStale } from "../../domain/routing/routingChecks.ts"
import { StorageUnavailable } from "../../domain/operations/storage.ts"
import { BODY_PROBLEMS, Refusals } from "../problems.ts"
import { AdminOnly, Authorization } from "./Authorization.ts"
import { RoutingSettings, RoutingStats, RoutingTrial } from "./resources.ts"

const MAX_TIME = 64
const Time = Schema.String.check(Schema.isMaxLength(MAX_TIME)).pipe(Schema.decodeTo(Schema.DateTimeUtcFromString))

const SettingsWithTag = HttpApiSchema.WithHeaders(RoutingSettings, { etag: Schema.String })

export class RoutingApi extends HttpApiGroup.make("routing")
  .add(
    HttpApiEndpoint.get("stats", "/stats", {
      query: {
        from: Schema.optionalKey(Time),
        to: Schema.optionalKey(Time),
        scope: Schema.optionalKey(Schema.Literals(["tenant", "all"])),
        interval: Schema.optionalKey(Interval),
      },
      success: RoutingStats,
      error: [AccessDenied, StorageUnavailable],
    }).annotateMerge(
      OpenApi.annotations({
        summary: "What routing saved",
        description:
          "From `from` (included, default: 24 hours before `to`) to `to` (excluded, default: now), for the own tenant; administrators may ask for `scope=all`. With `interval`, also per UTC hour or day of the span, as `over_time`: at most 31 days of hours, or as many days.",
      }),
    ),
    HttpApiEndpoint.get("config", "/config", {
      success: SettingsWithTag,
      error: StorageUnavailable,
    })
      .middleware(AdminOnly)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read the routing configuration",
          description:
            "`effective_prices` has what every target and the baseline cost now, shipped prices with their date and source.",
        }),
      ),
    HttpApiEndpoint.put("putConfig", "/config", {
      headers: { "if-match": Schema.optionalKey(Schema.String) },
      payload: RoutingSettingsInput,
      success: SettingsWithTag,
      error: [RoutingSettingsStale, ...BODY_PROBLEMS, RoutingSettingsInvalid, StorageUnavailable],
    })
      .middleware(AdminOnly)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Replace the routing configuration",
          description:
            "Checked as a whole, then in force from the next call on. Earlier versions are kept. `effective_prices` may be sent back and change nothing; prices of your own belong into `targets`.",
        }),
      ),
    HttpApiEndpoint.post("trial", "/trial", {
      payload: RoutingSettingsInput,
      success: RoutingTrial,
      error: [...BODY_PROBLEMS, RoutingSettingsInvalid, StorageUnavailable],
    })
      .middleware(AdminOnly)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Try a routing configuration",
          description:
            "What it would have done with the calls of all tenants in the last 24 hours. Checked as a whole, and nothing is changed.",
        }),
      ),
  )
  .middleware(Authorization)
  .middleware(Refusals)
  .prefix("/api/v1/routing")
  .annotateMerge(
    OpenApi.annotations({ title: "Routing", description: "Which model serves which call, and what that saved." }),
  ) {}
