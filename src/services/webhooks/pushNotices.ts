/** Writes notices for A2A clients. `layerWebhookDelivery` delivers them like webhooks. */
import { Clock, Effect } from "effect"
import type { SqlClient } from "effect/sql"

/**
 * Returns an effect that writes a notice for each task with a push configuration that has ended or asks a person. Notices
 * follow from the stored state of tasks, so neither a crash nor a configuration set late loses the one of its end. A
 * configuration ends with its task.
 */
export const makePushNotices = (sql: SqlClient.SqlClient) => {
  // The id names the event, like that of a webhook: a task may ask several times.
  const id = sql`jobs.id || '_' || (last_event + CASE WHEN finished_at IS NULL THEN 0 ELSE 1 END) || '_' || push_configs.id`
  // A scalar subquery and a lateral one, so that Postgres looks rows up one by one: it would scan the history of all jobs.
  const isKnown = sql`(SELECT 1 FROM webhook_deliveries AS known WHERE known.id = ${id}) IS NOT NULL`
  const withJobs = sql.onDialectOrElse({
    pg: () => sql`CROSS JOIN LATERAL (SELECT * FROM jobs WHERE jobs.id = push_configs.job_id OFFSET 0) AS jobs`,
    orElse: () => sql`JOIN jobs ON jobs.id = push_configs.job_id`,
  })
  const write = (now: number) => sql`INSERT INTO webhook_deliveries
    (id, tenant, job_id, agent_id, url, event, job_status, created_at, due_at, leased_until, attempts, context_id, sealed)
    SELECT ${id}, tenant, jobs.id, agent_id, url,
      CASE WHEN finished_at IS NULL THEN 'job.input_required' ELSE 'job.ended' END, status,
      CAST(${now} AS BIGINT), CAST(${now} AS BIGINT), 0, 0, context_id, sealed
    FROM push_configs ${withJobs}
    WHERE (finished_at IS NOT NULL OR status = 'input_required') AND NOT (${isKnown})
    ON CONFLICT DO NOTHING`
  // Also configurations whose notice was written by an earlier round that failed later, and those set after the end.
  const forget = sql`DELETE FROM push_configs WHERE (SELECT 1 FROM jobs
    WHERE jobs.id = push_configs.job_id AND finished_at IS NOT NULL AND ${isKnown}) IS NOT NULL`
  return Effect.andThen(Effect.flatMap(Clock.currentTimeMillis, write), forget)
}
