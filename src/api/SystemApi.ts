/** Probes of both servers, for load balancers and orchestrators. Operators use a separate listener. */
import { Context, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { PublicReadiness } from "../domain/operations/readiness.ts"
import { Refusals } from "./problems.ts"
import { described } from "./described.ts"

/** Whether an endpoint is a probe, which load balancers and orchestrators send to each process. */
export const IsProbe = Context.Reference<boolean>("sealgate/api/SystemApi/IsProbe", {
  defaultValue: () => false,
})

export const Health = Schema.Struct({ status: Schema.Literal("ok"), software: Schema.String })

export class SystemApi extends HttpApiGroup.make("system", { topLevel: true })
  .add(
    HttpApiEndpoint.get("health", "/health", { success: Health }).annotateMerge(
      described("Liveness", "Answers as long as the process is alive, without calling anything else."),
    ),
    HttpApiEndpoint.get("ready", "/ready", {
      success: PublicReadiness,
      error: PublicReadiness.pipe(HttpApiSchema.status(503)),
    }).annotateMerge(
      described(
        "Readiness",
        "503 while the server shuts down or lacks a dependency such as the database. Providers do not affect the status and are not called. The operator's listener reports more.",
      ),
    ),
  )
  .middleware(Refusals)
  .annotateEndpoints(IsProbe, true)
  .annotateMerge(
    OpenApi.annotations({ title: "Operations", description: "Probes for load balancers and orchestrators." }),
  ) {}
