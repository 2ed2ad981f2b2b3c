/** Queries for jobs. Each is restricted to one tenant. */
import { Effect, Option, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { TenantId } from "../../domain/jobs/agent.ts"
import { type Job, JobId, JobNotFound, type JobReceipt, type JobStatus } from "../../domain/jobs/job.ts"
import {
  type Page,
  type PageRequest,
  type PageRow,
  pageBounds,
  pageOf,
  type StorageUnavailable,
} from "../../domain/operations/storage.ts"
import { makeBatched } from "../batched.ts"
import type { Ledger } from "../routing/Ledger.ts"
import { givenRows } from "../storedRows.ts"
import {
  decodeReceipts,
  decodeShown,
  decodeStates,
  decodeSteps,
  type JobState,
  SHOWN_BYTES,
  SHOWN_COLUMNS,
  type ShownRow,
  STATE_COLUMNS,
  STEP_COLUMNS,
  toJob,
} from "./JobRows.ts"

/** Restricts a list of jobs. */
export interface JobFilter {
  readonly agent_id?: string | undefined
  readonly status?: JobStatus | undefined
}

export type JobReads = Effect.Success<ReturnType<typeof makeJobReads>>

export const makeJobReads = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, ledger: Ledger["Service"]) {
  const shownColumns = sql.literal(SHOWN_COLUMNS)
  const shownBytes = sql.literal(SHOWN_BYTES)

  /** Steps with an event id above `after`, in order. */
  const steps = Effect.fnUntraced(function* (jobs: ReadonlyArray<string>, after = 0) {
    if (jobs.length === 0) return []
    const rows = yield* sql`SELECT ${sql.csv(STEP_COLUMNS)} FROM job_steps
      WHERE job_id IN ${sql.in(jobs)} AND event > ${after} ORDER BY job_id, event`
    return yield* decodeSteps(rows)
  })

  /** Adds steps and usage to jobs. */
  const completed = Effect.fnUntraced(function* (rows: ReadonlyArray<ShownRow>) {
    const ids = rows.map(({ id }) => id)
    const byJob = Map.groupBy(yield* steps(ids), (step) => step.job_id)
    const spent = yield* ledger.spent(ids)
    return rows.map((row) => toJob(row, byJob.get(row.id) ?? [], spent(row.id)))
  })

  const { read, state } = yield* makeLookups(sql, completed)

  const list = Effect.fnUntraced(function* (tenant: TenantId, filter: JobFilter = {}, page?: PageRequest) {
    const { before, limit } = yield* pageBounds(page)
    const wanted = sql.and([
      sql`tenant = ${tenant}`,
      ...(filter.agent_id === undefined ? [] : [sql`agent_id = ${filter.agent_id}`]),
      ...(filter.status === undefined ? [] : [sql`status = ${filter.status}`]),
    ])
    // Chooses the rows of the page by size before reading them: together they may exceed memory.
    const rows = yield* sql<PageRow>`SELECT id, ${shownBytes} AS bytes FROM jobs
      WHERE ${wanted} AND id < ${before} ORDER BY id DESC LIMIT ${limit + 1}`
    const { items, ...next } = pageOf(rows, limit)
    if (items.length === 0) return { items: [] }
    const found =
      yield* sql`SELECT ${shownColumns} FROM jobs WHERE ${wanted} AND id IN ${sql.in(items)} ORDER BY id DESC`
    const jobs: Page<Job> = { ...next, items: yield* completed(yield* decodeShown(found)) }
    return jobs
  })

  /** The receipts of the job's steps, in their order. */
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
})

/** Returns lookups by id. Those that arrive at the same time share a query. */
const makeLookups = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  completed: (
    rows: ReadonlyArray<ShownRow>,
  ) => Effect.Effect<ReadonlyArray<Job>, SqlError.SqlError | StorageUnavailable>,
) {
  const shownColumns = sql.literal(SHOWN_COLUMNS)
  const stateColumns = sql.literal(STATE_COLUMNS)
  const given = givenRows(sql, { tenant: "TEXT", job_id: "TEXT" })

  /** SQL: the requested jobs that belong to the tenants who asked. */
  const owned = (asked: ReadonlyArray<Asked>) =>
    sql`FROM ${given(asked)} JOIN jobs ON jobs.id = given.job_id AND jobs.tenant = given.tenant`

  const stateOf = yield* makeBatched<Asked, Option.Option<JobState>>({
    run: Effect.fnUntraced(function* (asked) {
      const rows = yield* decodeStates(yield* sql`SELECT ${stateColumns} ${owned(asked)}`)
      return asked.map((one) => ofThem(one, rows))
    }),
  })

  const readOne = yield* makeBatched<Asked, Option.Option<Job>>({
    run: Effect.fnUntraced(function* (asked) {
      const rows = yield* decodeShown(yield* sql`SELECT ${shownColumns} ${owned(asked)}`)
      const jobs = yield* completed(rows)
      return asked.map((one) => {
        const index = rows.findIndex((row) => row.id === one.job_id && row.tenant === one.tenant)
        return Option.fromUndefinedOr(jobs[index])
      })
    }),
  })

  /** Returns the job's state. */
  const state = Effect.fnUntraced(function* (tenant: TenantId, id: string) {
    // A database may refuse to compare with text that is no valid id.
    if (!isJobId(id)) return yield* new JobNotFound()
    const found = yield* stateOf({ tenant, job_id: id })
    return Option.isSome(found) ? found.value : yield* new JobNotFound()
  })

  const read = Effect.fnUntraced(function* (tenant: TenantId, id: string) {
    const job = isJobId(id) ? yield* readOne({ tenant, job_id: id }) : Option.none()
    return Option.isSome(job) ? job.value : yield* new JobNotFound()
  })

  return { state, read }
})

const isJobId = Schema.is(JobId)

/** A requested job. One query serves several tenants, so each row is matched by its tenant, too. */
interface Asked {
  readonly tenant: TenantId
  readonly job_id: JobId
}

const ofThem = ({ job_id, tenant }: Asked, rows: ReadonlyArray<JobState>): Option.Option<JobState> =>
  Option.fromUndefinedOr(rows.find((row) => row.id === job_id && row.tenant === tenant))
