/** What operators and orchestrators ask of both servers. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Readiness } from "../../domain/readiness.ts"

export const Health = Schema.Struct({ status: Schema.Literal("ok"), software: Schema.String })

export class SystemApi extends HttpApiGroup.make("system", { topLevel: true })
  .add(
    HttpApiEndpoint.get("health", "/health", { success: Health }).annotateMerge(
      OpenApi.annotations({ summary: "Liveness", description: "Answers while the process lives. Calls nobody." }),
    ),
    HttpApiEndpoint.get("ready", "/ready", {
      success: Readiness,
      error: Readiness.pipe(HttpApiSchema.status(503)),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Readiness",
        description:
          "Whether requests should be sent here: providers, TLS, key storage, sessions, database. Calls no provider.",
      }),
    ),
    HttpApiEndpoint.get("metrics", "/metrics", {
      success: Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/plain; version=0.0.4; charset=utf-8" })),
    }).annotateMerge(OpenApi.annotations({ summary: "Metrics", description: "Prometheus text format." })),
  )
  .annotateMerge(OpenApi.annotations({ title: "Operations" })) {}
