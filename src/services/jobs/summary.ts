/** Counts a tenant's jobs by status, and finds what its recent ones cost. */
import { DateTime, Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { TenantId } from "../../domain/jobs/agent.ts"
import { JobStatus } from "../../domain/jobs/job.ts"
import { Mode } from "../../domain/jobs/modes.ts"
import { Effort } from "../../domain/jobs/modes/description.ts"
import type { JobSummary } from "../../domain/jobs/summary.ts"
import { firstIdAt } from "../../domain/operations/storage.ts"
import type { Ledger } from "../routing/Ledger.ts"
import { decodeRows } from "../storedRows.ts"

const decodeCounts = decodeRows("jobs", Schema.Struct({ status: JobStatus, jobs: Schema.Int, retrying: Schema.Int }))
const decodeRecent = decodeRows(
  "jobs",
  Schema.Struct({
    id: Schema.String,
    mode: Mode,
    effort: Schema.NullOr(Effort),
  }),
)

/** The jobs that typical costs are computed from. */
const RECENT = 100

export const makeSummary = (sql: SqlClient.SqlClient, ledger: Ledger["Service"]) => {
  const typicalCosts = Effect.fnUntraced(function* (tenant: TenantId) {
    const jobs = yield* decodeRecent(
      yield* sql`SELECT id, mode, effort FROM jobs
        WHERE tenant = ${tenant} AND status = 'completed' ORDER BY id DESC LIMIT ${RECENT}`,
    )
    if (jobs.length === 0) return []
    const spent = yield* ledger.spent(jobs.map(({ id }) => id))
    const known = jobs.flatMap(({ effort, id, mode }) => {
      const { cost, unpriced } = spent(id)
      return unpriced > 0 || effort === null ? [] : [{ mode, effort, cost }]
    })
    return [...Map.groupBy(known, ({ effort, mode }) => `${mode} ${effort}`).values()].flatMap((group) =>
      group.slice(0, 1).map(({ effort, mode }) => ({
        mode,
        effort,
        cost_micro_usd: median(group.map(({ cost }) => cost)),
        jobs: group.length,
      })),
    )
  })

  return Effect.fnUntraced(function* (tenant: TenantId, from: DateTime.Utc) {
    // The time of an id is not before that of its job, so the index finds the jobs.
    const rows = yield* sql`
      SELECT status, COUNT(*) AS jobs, COUNT(failing_since) AS retrying FROM jobs
      WHERE tenant = ${tenant} AND status IN ('queued', 'running', 'input_required') AND finished_at IS NULL GROUP BY status
      UNION ALL SELECT status, COUNT(*) AS jobs, 0 AS retrying FROM jobs
      WHERE tenant = ${tenant} AND status IN ('completed', 'failed', 'cancelled', 'timed_out')
        AND id >= ${firstIdAt(DateTime.toEpochMillis(from))} GROUP BY status`
    const counts = new Map((yield* decodeCounts(rows)).map((row) => [row.status, row]))
    const count = (status: JobStatus) => counts.get(status)?.jobs ?? 0
    const summary: JobSummary = {
      from,
      running: count("running"),
      queued: count("queued"),
      input_required: count("input_required"),
      retrying: counts.get("queued")?.retrying ?? 0,
      completed: count("completed"),
      failed: count("failed"),
      cancelled: count("cancelled"),
      timed_out: count("timed_out"),
      typical_costs: yield* typicalCosts(tenant),
    }
    return summary
  })
}

/** The median, rounded down between two values. */
const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const [low = 0, high = low] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]]
  return Math.floor(low + (high - low) / 2)
}
