/**
 * Ranks of jobs: keys of a tenant take turns by their weights, whatever their numbers of jobs. Start-time fair queueing
 * (Goyal, Vin and Cheng 1996): a job's rank is one step after its key's last queued job, and not before the tenant's next
 * job, so that a key gains nothing from having been idle. Jobs of callers with tokens share the turns of one key.
 */
import type { SqlClient, Statement } from "effect/sql"
import { databaseTime } from "../databaseTime.ts"

/** The step of a key with weight 1; that of others is divided by their weights. */
export const STEP = 1_000_000

/** Returns the SQL of the rank of the next job like `row`, one of the same tenant, priority and key. */
export const makeNextRank = (sql: SqlClient.SqlClient) => {
  const isQueued = sql`queued.status = 'queued' AND queued.finished_at IS NULL`
  return (row: string, step: Statement.Fragment): Statement.Fragment => {
    const isAlike = sql`${isQueued} AND queued.tenant = ${sql(row)}.tenant AND queued.priority = ${sql(row)}.priority`
    return sql`COALESCE((SELECT MAX(rank) FROM (
      SELECT MAX(queued.rank) + ${step} AS rank FROM jobs AS queued
        WHERE ${isAlike} AND COALESCE(queued.key_id, '') = COALESCE(${sql(row)}.key_id, '')
      UNION ALL
      SELECT rank FROM (SELECT queued.rank FROM jobs AS queued
        WHERE ${isAlike} AND queued.due_at <= (SELECT ${databaseTime(sql)})
        ORDER BY queued.rank, queued.id LIMIT 1) AS next) AS ranks), 0)`
  }
}
