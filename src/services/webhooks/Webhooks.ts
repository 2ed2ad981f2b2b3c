/** The webhooks of tenants: the secret that signs them, and the notices of a job. */
import { Clock, Context, DateTime, Effect, Layer, Option, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { TenantId } from "../../domain/jobs/agent.ts"
import { type WebhookDelivery, WebhookEvent, WebhookSecretMissing } from "../../domain/jobs/webhook.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import { decodeRows, unavailable } from "../storedRows.ts"
import { makeWebhookSecret } from "./signature.ts"

export class Webhooks extends Context.Service<
  Webhooks,
  {
    /** Gives the tenant a new secret. For a day, webhooks are signed with the previous one too. */
    readonly replaceSecret: (tenant: TenantId) => Effect.Effect<Redacted.Redacted, StorageUnavailable>
    /** Fails if a webhook is given and the tenant has no secret. */
    readonly check: (
      tenant: TenantId,
      url: string | null | undefined,
    ) => Effect.Effect<void, WebhookSecretMissing | StorageUnavailable>
    /** The latest 100 notices of a job, oldest first. */
    readonly deliveries: (
      tenant: TenantId,
      job: string,
    ) => Effect.Effect<ReadonlyArray<WebhookDelivery>, StorageUnavailable>
  }
>()("sealgate/services/webhooks/Webhooks") {
  static readonly layer = Layer.effect(
    Webhooks,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      return Webhooks.of({
        replaceSecret: Effect.fnUntraced(function* (tenant) {
          const [secret, now] = [makeWebhookSecret(), yield* Clock.currentTimeMillis]
          yield* sql`INSERT INTO webhook_secrets
            ${sql.insert({ tenant, secret: Redacted.value(secret), previous: null, changed_at: now })}
            ON CONFLICT (tenant) DO UPDATE SET
              previous = webhook_secrets.secret, secret = excluded.secret, changed_at = excluded.changed_at`
          return secret
        }, unavailable),

        check: Effect.fnUntraced(function* (tenant, url) {
          if (url == null) return
          const rows = yield* sql`SELECT tenant FROM webhook_secrets WHERE tenant = ${tenant}`
          if (rows.length === 0) return yield* new WebhookSecretMissing()
        }, unavailable),

        deliveries: Effect.fnUntraced(function* (tenant, job) {
          const rows = yield* sql`SELECT id, event, url, outcome, attempts, failure, created_at, due_at
            FROM webhook_deliveries WHERE tenant = ${tenant} AND job_id = ${job} ORDER BY created_at DESC, id DESC LIMIT ${SHOWN}`
          return (yield* decode(rows)).toReversed().map(toDelivery)
        }, unavailable),
      })
    }),
  )
}

/** Limited because a job that is resumed again and again has many. */
const SHOWN = 100

const Row = Schema.Struct({
  id: Schema.String,
  event: WebhookEvent,
  url: Schema.String,
  outcome: Schema.NullOr(Schema.Literals(["delivered", "failed"])),
  attempts: Schema.Int,
  failure: Schema.NullOr(Schema.String),
  created_at: Schema.DateTimeUtcFromMillis,
  due_at: Schema.DateTimeUtcFromMillis,
})
const decode = decodeRows("webhook_deliveries", Row)

const toDelivery = ({ due_at, failure, outcome, ...row }: typeof Row.Type): WebhookDelivery => ({
  ...row,
  status: outcome ?? "pending",
  ...(failure === null ? {} : { last_failure: failure }),
  ...(outcome === null ? { next_attempt_at: due_at } : {}),
})

const SecretRow = Schema.Struct({
  secret: Schema.RedactedFromValue(Schema.String),
  previous: Schema.NullOr(Schema.RedactedFromValue(Schema.String)),
  changed_at: Schema.DateTimeUtcFromMillis,
})
const decodeSecrets = decodeRows("webhook_secrets", SecretRow)

/** The secrets that sign a tenant's webhooks now. */
export const secretsOf = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, tenant: TenantId) {
  const [row] = yield* decodeSecrets(
    yield* sql`SELECT secret, previous, changed_at FROM webhook_secrets WHERE tenant = ${tenant}`,
  )
  if (row === undefined) return []
  const isRecent = DateTime.isFuture(DateTime.add(row.changed_at, { days: 1 }))
  const previous = (yield* isRecent) ? Option.fromNullOr(row.previous) : Option.none()
  return [row.secret, ...Option.toArray(previous)]
})
