/** Writes notices of jobs. They are delivered by `layerWebhookDelivery`. */
import { Duration, Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { JobId } from "../../domain/jobs/job.ts"
import type { WebhookEvent } from "../../domain/jobs/webhook.ts"
import { givenRows } from "../storedRows.ts"

/** How long delivery of a notice is attempted. */
export const RETRY_FOR = Duration.days(1)

/**
 * Returns a function that writes a notice for each of these jobs that has a webhook. Call it in the transaction of the
 * event, after the change of the job. `now` is in milliseconds since the epoch.
 */
export const makeOutbox = (sql: SqlClient.SqlClient) => {
  const given = givenRows(sql, { given_id: "TEXT", given_event: "TEXT", now: "BIGINT" })
  return (event: WebhookEvent, jobs: ReadonlyArray<JobId>, now: number): Effect.Effect<void, SqlError.SqlError> =>
    Effect.asVoid(
      // The event's id makes the notice's id unique, also for a job that ends again after it was resumed.
      sql`INSERT INTO webhook_deliveries
        (id, tenant, job_id, agent_id, url, event, job_status, created_at, due_at, leased_until, attempts)
        SELECT jobs.id || '_' || (last_event + CASE WHEN finished_at IS NULL THEN 0 ELSE 1 END), tenant, jobs.id, agent_id, webhook, given_event, status, now, now, 0, 0
        FROM ${given(jobs.map((id) => ({ given_id: id, given_event: event, now })))} JOIN jobs ON jobs.id = given_id
        WHERE webhook IS NOT NULL`,
    )
}
