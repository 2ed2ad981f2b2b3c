/** What operators and orchestrators ask of both servers. */
import { Context, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Readiness } from "../domain/readiness.ts"
import { problems } from "./problems.ts"

/** Whether an endpoint is for balancers, orchestrators and scrapers, who ask every process by itself. */
export const IsProbe = Context.Reference<boolean>("sealgate/api/SystemApi/IsProbe", {
  defaultValue: () => false,
})

export const Health = Schema.Struct({ status: Schema.Literal("ok"), software: Schema.String })

export class SystemApi extends HttpApiGroup.make("system", { topLevel: true })
  .add(
    HttpApiEndpoint.get("health", "/health", { success: Health, error: problems() }).annotateMerge(
      OpenApi.annotations({ summary: "Liveness", description: "Answers while the process lives. Calls nobody." }),
    ),
    HttpApiEndpoint.get("ready", "/ready", {
      success: Readiness,
      error: [Readiness.pipe(HttpApiSchema.status(503)), ...problems()],
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Readiness",
        description:
          "Whether requests should be sent here: 503 while it shuts down or lacks something of its own, such as the database. How its providers are is told and changes nothing but `degraded`. Calls no provider.",
      }),
    ),
    HttpApiEndpoint.get("metrics", "/metrics", {
      success: Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/plain; version=0.0.4; charset=utf-8" })),
      error: problems(),
    }).annotateMerge(OpenApi.annotations({ summary: "Metrics", description: "Prometheus text format." })),
  )
  .annotateEndpoints(IsProbe, true)
  .annotateMerge(OpenApi.annotations({ title: "Operations" })) {}
