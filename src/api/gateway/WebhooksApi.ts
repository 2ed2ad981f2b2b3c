import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { JobNotFound } from "../../domain/jobs/job.ts"
import { WebhookDelivery, WebhookSecret } from "../../domain/jobs/webhook.ts"
import { described } from "../described.ts"

export class WebhooksApi extends HttpApiGroup.make("webhooks")
  .add(
    HttpApiEndpoint.post("replaceSecret", "/webhooks/secret", {
      success: WebhookSecret.pipe(HttpApiSchema.status(201)),
    }).annotateMerge(
      described(
        "Create or replace the secret that signs webhooks",
        "The answer shows it, once. For a day, webhooks are signed with the previous secret too.",
      ),
    ),
    HttpApiEndpoint.get("deliveries", "/jobs/:id/deliveries", {
      params: { id: Schema.String.annotate({ description: "The job's id." }) },
      success: Schema.Struct({ items: Schema.Array(WebhookDelivery) }),
      error: [JobNotFound],
    }).annotateMerge(
      described("List the webhooks of a job", "The latest deliveries to the job's `webhook_url`, with their status."),
    ),
  )
  .prefix("/api/v1")
  .annotateMerge(OpenApi.annotations({ title: "Webhooks", description: "Signed notices of jobs." })) {}
