/** Webhooks: signed notices of a job's events (Standard Webhooks, https://www.standardwebhooks.com). */
import { Schema } from "effect"
import { Refusal } from "../problems/refusal.ts"
import { timeText } from "../timeText.ts"
import { ToolUrl } from "./tool.ts"

export const WebhookUrl = ToolUrl.annotate({
  description:
    "Gets a signed notice when a job ends, or waits for a person. https, or http in a network that the operator allows (TOOL_PRIVATE_NETWORKS).",
})

export const WebhookEvent = Schema.Literals(["job.ended", "job.input_required"]).annotate({
  description: "What happened to the job.",
})
export type WebhookEvent = typeof WebhookEvent.Type

/** A notice, and what became of it. */
export const WebhookDelivery = Schema.Struct({
  id: Schema.String.annotate({ description: "The `webhook-id`, the same in every attempt." }),
  event: WebhookEvent,
  url: Schema.String.annotate({ description: "Where it is sent." }),
  status: Schema.Literals(["pending", "delivered", "failed"]).annotate({
    description: "`failed`: refused for good, or not accepted within a day.",
  }),
  attempts: Schema.Int.annotate({ description: "Attempts so far." }),
  last_failure: Schema.optionalKey(Schema.String.annotate({ description: "Why the last attempt failed." })),
  created_at: Schema.DateTimeUtcFromString.annotate({ description: "When it happened." }),
  next_attempt_at: Schema.optionalKey(timeText("Absent once it is no longer pending.")),
}).annotate({ identifier: "WebhookDelivery" })
export type WebhookDelivery = typeof WebhookDelivery.Type

export const WebhookSecret = Schema.Struct({
  secret: Schema.String.annotate({ description: "Signs the tenant's webhooks; shown only here." }),
}).annotate({ identifier: "WebhookSecret" })

/** A webhook was named before the tenant had a secret to sign it with. */
export class WebhookSecretMissing extends Refusal<WebhookSecretMissing>()("WebhookSecretMissing", {
  code: "webhook-secret-missing",
  status: 422,
  title: "Your tenant has no secret that signs webhooks.",
  detail: "Create one first: POST /api/v1/webhooks/secret.",
}) {}
