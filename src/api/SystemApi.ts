/**
 * What load balancers and orchestrators ask of both servers. The operator's own requests go to a listener of their own.
 */
import { Context, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { PublicReadiness } from "../domain/operations/readiness.ts"
import { Refusals } from "./problems.ts"

/** Whether an endpoint is a probe: load balancers and orchestrators ask it of every process by itself. */
export const IsProbe = Context.Reference<boolean>("sealgate/api/SystemApi/IsProbe", {
  defaultValue: () => false,
})

export const Health = Schema.Struct({ status: Schema.Literal("ok"), software: Schema.String })

export class SystemApi extends HttpApiGroup.make("system", { topLevel: true })
  .add(
    HttpApiEndpoint.get("health", "/health", { success: Health }).annotateMerge(
      OpenApi.annotations({
        summary: "Liveness",
        description: "Answers as long as the process is alive. Calls nothing else.",
      }),
    ),
    HttpApiEndpoint.get("ready", "/ready", {
      success: PublicReadiness,
      error: PublicReadiness.pipe(HttpApiSchema.status(503)),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Readiness",
        description:
          "Whether requests should be sent here: 503 while it shuts down or lacks something of its own, such as the database. The state of its providers does not count, and none is called. The operator's own listener tells more.",
      }),
    ),
  )
  .middleware(Refusals)
  .annotateEndpoints(IsProbe, true)
  .annotateMerge(OpenApi.annotations({ title: "Operations", description: "What balancers and orchestrators ask." })) {}
