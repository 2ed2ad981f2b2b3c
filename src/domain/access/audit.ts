/** The audit trail: who changed what. */
import { Schema } from "effect"

export const AuditAction = Schema.Literals([
  "key.create",
  "key.update",
  "key.revoke",
  "agent.create",
  "agent.update",
  "agent.remove",
  "job.cancel",
  "job.remove",
  "thread.remove",
  "schedule.create",
  "schedule.remove",
  "job.resume",
  "job.input",
  "routing.put",
  "budgets.put",
  "secret.put",
  "secret.remove",
  "webhooks.secret",
])
export type AuditAction = typeof AuditAction.Type

export const AuditEntry = Schema.Struct({
  id: Schema.String,
  at: Schema.DateTimeUtcFromString.annotate({ description: "When the change was made." }),
  tenant: Schema.String.annotate({ description: "The tenant of the caller." }),
  subject: Schema.String.annotate({ description: "Subject of the caller's token, or name of its key." }),
  key_id: Schema.NullOr(Schema.String).annotate({ description: "The caller's key; `null` if it had a token." }),
  action: AuditAction.annotate({ description: "The change that was made." }),
  target: Schema.String.annotate({
    description:
      "Id of the changed key, agent or job; version of the routing; tenant of budgets or webhooks; name of the secret.",
  }),
}).annotate({ identifier: "AuditEntry" })
export type AuditEntry = typeof AuditEntry.Type
