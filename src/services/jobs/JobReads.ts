/** The questions that are asked about jobs. Every one names its tenant. */
import { Effect, Schema } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import type { TenantId } from "../../domain/agent.ts"
import { type Job, JobId, JobNotFound, type JobReceipt, type JobStatus } from "../../domain/job.ts"
import { type Page, type PageRequest, type PageRow, pageBounds, pageOf } from "../../domain/storage.ts"
import type { Ledger } from "../routing/Ledger.ts"
import {
  decodeReceipts,
  decodeShown,
  decodeStates,
  decodeSteps,
  SHOWN_BYTES,
  SHOWN_COLUMNS,
  STATE_COLUMNS,
  STEP_COLUMNS,
  toJob,
} from "./JobRows.ts"

/** Which jobs of a tenant. */
export interface JobFilter {
  readonly agent_id?: string | undefined
  readonly status?: JobStatus | undefined
}

export const makeJobReads = (sql: SqlClient.SqlClient, ledger: Ledger["Service"]) => {
  const shownColumns = sql.csv(SHOWN_COLUMNS)
  const shownBytes = sql.literal(SHOWN_BYTES)

  /** How far the job is. */
  const state = Effect.fnUntraced(function* (tenant: TenantId, id: string) {
    // What is no id names no job, and may be what a database refuses to look for.
    if (!isJobId(id)) return yield* new JobNotFound()
    const rows = yield* sql`SELECT ${sql.csv(STATE_COLUMNS)} FROM jobs WHERE tenant = ${tenant} AND id = ${id}`
    const [found] = yield* decodeStates(rows)
    return found === undefined ? yield* new JobNotFound() : found
  })

  /** Steps with an event id above `after`, in order. */
  const steps = Effect.fnUntraced(function* (jobs: ReadonlyArray<string>, after = 0) {
    if (jobs.length === 0) return []
    const rows = yield* sql`SELECT ${sql.csv(STEP_COLUMNS)} FROM job_steps
      WHERE job_id IN ${sql.in(jobs)} AND event > ${after} ORDER BY job_id, event`
    return yield* decodeSteps(rows)
  })

  /** The tenant's jobs among these that `filter` lets through, newest first. */
  const readAll = Effect.fnUntraced(function* (filter: Statement.Fragment, ids: ReadonlyArray<string>) {
    if (ids.length === 0) return []
    const rows = yield* decodeShown(
      yield* sql`SELECT ${shownColumns} FROM jobs WHERE ${filter} AND id IN ${sql.in(ids)} ORDER BY id DESC`,
    )
    const byJob = Map.groupBy(yield* steps(ids), (step) => step.job_id)
    const spent = yield* ledger.spent(ids)
    return rows.map((row) => toJob(row, byJob.get(row.id) ?? [], spent(row.id)))
  })

  const read = Effect.fnUntraced(function* (tenant: TenantId, id: string) {
    const [job] = isJobId(id) ? yield* readAll(sql`tenant = ${tenant}`, [id]) : []
    return job === undefined ? yield* new JobNotFound() : job
  })

  const list = Effect.fnUntraced(function* (tenant: TenantId, filter: JobFilter = {}, page?: PageRequest) {
    const { before, limit } = yield* pageBounds(page)
    const wanted = sql.and([
      sql`tenant = ${tenant}`,
      ...(filter.agent_id === undefined ? [] : [sql`agent_id = ${filter.agent_id}`]),
      ...(filter.status === undefined ? [] : [sql`status = ${filter.status}`]),
    ])
    // What the page holds is decided before any of it is read: together these rows may be more than memory should take.
    const rows = yield* sql<PageRow>`SELECT id, ${shownBytes} AS bytes FROM jobs
      WHERE ${wanted} AND id < ${before} ORDER BY id DESC LIMIT ${limit + 1}`
    const { items, ...next } = pageOf(rows, limit)
    const jobs: Page<Job> = { ...next, items: yield* readAll(wanted, items) }
    return jobs
  })

  /** What sealed proxies signed of the job's steps, in their order. */
  const receipts = Effect.fnUntraced(function* (tenant: TenantId, id: string) {
    yield* state(tenant, id)
    const rows = yield* sql`SELECT name, receipt FROM job_steps
      WHERE job_id = ${id} AND receipt IS NOT NULL ORDER BY event`
    const found: ReadonlyArray<JobReceipt> = (yield* decodeReceipts(rows)).map(({ name, receipt }) => ({
      step: name,
      ...receipt,
    }))
    return found
  })

  return { state, steps, read, receipts, list }
}

const isJobId = Schema.is(JobId)
