/** SQL with which `JobQueue.claim` chooses the jobs to begin. Tenants take turns. */
import type { SqlClient, Statement } from "effect/sql"
import type { TenantId } from "../../domain/jobs/agent.ts"
import { givenRows } from "../storedRows.ts"
import { databaseTime } from "../databaseTime.ts"
import type { JobSettings } from "./JobSettings.ts"

interface Choice {
  /** Most jobs to begin. */
  readonly count: number
  /** How many jobs of each tenant this process works on. */
  readonly running: ReadonlyMap<TenantId, number>
  readonly lastServed: string
}

/**
 * Returns a function that writes common table expressions. The last one, `due`, has the ids of the jobs to begin. Each
 * tenant takes one index lookup. The search ends after `count` tenants besides those with running jobs: more would not be
 * served.
 */
export const makeFairClaim = (
  sql: SqlClient.SqlClient,
  { weights, workersPerTenant }: Pick<JobSettings, "weights" | "workersPerTenant">,
) => {
  // A subquery, because Postgres uses no index for a comparison with a volatile function.
  const isDue = sql`status = 'queued' AND held_back = 0 AND finished_at IS NULL AND due_at <= (SELECT ${databaseTime(sql)})`
  /** The next tenant with a due job, in alphabetical order, starting again after the last. */
  const tenantAfter = (tenant: Statement.Fragment) => sql`COALESCE(
    (SELECT tenant FROM jobs WHERE ${isDue} AND tenant > ${tenant} ORDER BY tenant LIMIT 1),
    (SELECT tenant FROM jobs WHERE ${isDue} AND tenant <= ${tenant} ORDER BY tenant LIMIT 1))`
  const given = givenRows(sql, { tenant: "TEXT", jobs: "BIGINT", weight: "BIGINT" })
  /** The running jobs and weights of all tenants that have either. */
  const givenOf = (running: Choice["running"]) =>
    given(
      [...new Set<string>([...running.keys(), ...weights.keys()])].map((tenant) => ({
        tenant,
        // The ids of tenants are plain strings here.
        jobs: running.get(tenant as TenantId) ?? 0,
        weight: weights.get(tenant) ?? 1,
      })),
    )
  const inOrder = sql`priority DESC, rank, id`
  const firstOf = (tenant: string, count: Statement.Fragment) =>
    sql`SELECT id, priority, rank FROM jobs WHERE ${isDue} AND tenant = ${sql.literal(tenant)}
      ORDER BY ${inOrder} LIMIT ${count}`

  return ({ count, lastServed, running }: Choice): Statement.Fragment => {
    const ring = sql`ring (first, tenant, turn) AS (
        SELECT tenant, tenant, 1 FROM (SELECT ${tenantAfter(sql`${lastServed}`)} AS tenant) AS next
        WHERE tenant IS NOT NULL
        UNION ALL
        SELECT first, ${tenantAfter(sql`ring.tenant`)}, turn + 1 FROM ring
        WHERE turn < ${count + running.size} AND (turn = 1 OR tenant <> first)
      )`
    const waiting = sql.onDialectOrElse({
      pg: () => sql`SELECT ring.tenant, turn, own.id, priority, rank
        FROM ring JOIN LATERAL (${firstOf("ring.tenant", sql`${count}`)}) AS own ON TRUE`,
      orElse: () => sql`SELECT ring.tenant, turn, jobs.id, priority, rank FROM ring CROSS JOIN jobs
        ON jobs.id IN (SELECT id FROM (${firstOf("ring.tenant", sql`${count}`)}))`,
    })
    const chosen = sql`placed AS (
        SELECT waiting.id, waiting.tenant, turn, COALESCE(given.weight, 1) AS weight, COALESCE(given.jobs, 0)
          + ROW_NUMBER() OVER (PARTITION BY waiting.tenant ORDER BY ${inOrder}) AS place
        FROM (${waiting} WHERE turn = 1 OR ring.tenant <> first) AS waiting
        LEFT JOIN ${givenOf(running)} ON given.tenant = waiting.tenant
      ), chosen AS (
        SELECT id, tenant FROM placed WHERE place <= ${workersPerTenant} ORDER BY place * 1.0 / weight, turn LIMIT ${count}
      )`
    return sql.onDialectOrElse({
      // Each tenant's share is decided without locks. Within it, jobs that other processes claim meanwhile are skipped.
      pg: () => sql`${ring}, ${chosen}, shares AS (SELECT tenant, COUNT(*) AS jobs FROM chosen GROUP BY tenant),
        due AS (SELECT own.id FROM shares
          JOIN LATERAL (${firstOf("shares.tenant", sql`shares.jobs`)} FOR UPDATE SKIP LOCKED) AS own ON TRUE)`,
      orElse: () => sql`${ring}, ${chosen}, due AS (SELECT id FROM chosen)`,
    })
  }
}
