/** The questions that are asked about jobs. Every one names its tenant. */
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { TenantId } from "../../domain/agent.ts"
import { type Job, JobId, JobNotFound, type JobStatus } from "../../domain/job.ts"
import { type Page, type PageRequest, pageBounds, pageOf } from "../../domain/storage.ts"
import { decodeJobs, decodeSteps, STEP_COLUMNS, toJob } from "./JobRows.ts"

/** Which jobs of a tenant. */
export interface JobFilter {
  readonly agent_id?: string | undefined
  readonly status?: JobStatus | undefined
}

export const makeJobReads = (sql: SqlClient.SqlClient) => {
  const find = Effect.fnUntraced(function* (tenant: TenantId, id: string) {
    // What is no id names no job, and may be what a database refuses to look for.
    if (!isJobId(id)) return yield* new JobNotFound({ id })
    const [row] = yield* decodeJobs(yield* sql`SELECT * FROM jobs WHERE tenant = ${tenant} AND id = ${id}`)
    return row === undefined ? yield* new JobNotFound({ id }) : row
  })

  /** Steps with an event id above `after`, in order. */
  const steps = Effect.fnUntraced(function* (jobs: ReadonlyArray<string>, after = 0) {
    if (jobs.length === 0) return []
    const rows = yield* sql`SELECT ${sql.csv(STEP_COLUMNS)} FROM job_steps
      WHERE job_id IN ${sql.in(jobs)} AND event > ${after} ORDER BY job_id, event`
    return yield* decodeSteps(rows)
  })

  const read = Effect.fnUntraced(function* (tenant: TenantId, id: string) {
    const row = yield* find(tenant, id)
    return toJob(row, yield* steps([id]))
  })

  const list = Effect.fnUntraced(function* (tenant: TenantId, filter: JobFilter = {}, page?: PageRequest) {
    const { before, limit } = yield* pageBounds(page)
    const wanted = sql.and([
      sql`tenant = ${tenant}`,
      sql`id < ${before}`,
      ...(filter.agent_id === undefined ? [] : [sql`agent_id = ${filter.agent_id}`]),
      ...(filter.status === undefined ? [] : [sql`status = ${filter.status}`]),
    ])
    const rows = yield* sql`SELECT * FROM jobs WHERE ${wanted} ORDER BY id DESC LIMIT ${limit + 1}`
    const { items, ...next } = pageOf(yield* decodeJobs(rows), limit)
    const byJob = Map.groupBy(yield* steps(items.map((row) => row.id)), (step) => step.job_id)
    const jobs: Page<Job> = { ...next, items: items.map((row) => toJob(row, byJob.get(row.id) ?? [])) }
    return jobs
  })

  return { find, steps, read, list }
}

const isJobId = Schema.is(JobId)
