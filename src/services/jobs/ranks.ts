/**
 * Ranks of jobs: keys of a tenant take turns by weight, however many jobs each has. Start-time fair queueing (Goyal,
 * Vin and Cheng 1996): the rank of a job is one step after its key's last queued job, and at least that of the tenant's
 * next job, so that a key gains nothing from having been idle. Jobs of callers with tokens share the turns of one key.
 */
import type { SqlClient, Statement } from "effect/sql"
import { databaseTime } from "../databaseTime.ts"

/** The step of a key with weight 1. For other keys it is divided by the weight. */
export const STEP = 1_000_000

/** Returns the SQL of the rank of the next job like `row`, one of the same tenant, priority and key. */
export const makeNextRank =
  (sql: SqlClient.SqlClient) =>
  (row: string, step: Statement.Fragment): Statement.Fragment =>
    sql`COALESCE((SELECT MAX(rank) FROM (
      SELECT MAX(queued.rank) + ${step} AS rank FROM jobs AS queued
        WHERE ${isAlike(sql, row)} AND COALESCE(queued.key_id, '') = COALESCE(${sql(row)}.key_id, '')
      UNION ALL SELECT rank FROM (${firstAlike(sql, row)}) AS next) AS ranks), 0)`

/**
 * Returns the SQL of the rank of a job that was held back: its old one, but at least a step after the tenant's next job.
 * Otherwise jobs with a concurrency key, which come one after another, would delay others.
 */
export const makeAdmittedRank = (sql: SqlClient.SqlClient): Statement.Fragment =>
  sql`(SELECT MAX(rank) FROM (
    SELECT jobs.rank UNION ALL SELECT rank + ${STEP} FROM (${firstAlike(sql, "jobs")}) AS next) AS ranks)`

/** The queued jobs of the row's tenant and priority that are not held back. */
const isAlike = (sql: SqlClient.SqlClient, row: string) =>
  sql`queued.status = 'queued' AND queued.held_back = 0 AND queued.finished_at IS NULL
    AND queued.tenant = ${sql(row)}.tenant AND queued.priority = ${sql(row)}.priority`

/** Of these, the job that begins next. */
const firstAlike = (sql: SqlClient.SqlClient, row: string) =>
  sql`SELECT queued.rank FROM jobs AS queued
    WHERE ${isAlike(sql, row)} AND queued.due_at <= (SELECT ${databaseTime(sql)})
    ORDER BY queued.rank, queued.id LIMIT 1`
