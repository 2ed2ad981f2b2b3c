/** Queries for jobs. Each is restricted to one tenant. */
import { Effect, Option, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { TenantId } from "../../domain/jobs/agent.ts"
import { type Job, JobId, JobNotFound, type JobReceipt } from "../../domain/jobs/job.ts"
import {
  type Page,
  type PageRequest,
  type PageRow,
  pageOf,
  type StorageUnavailable,
} from "../../domain/operations/storage.ts"
import { makeBatched } from "../batched.ts"
import type { Ledger } from "../routing/Ledger.ts"
import { givenRows, unavailable } from "../storedRows.ts"
import { JobSettings } from "./JobSettings.ts"
import {
  decodeReceipts,
  decodeShown,
  decodeStates,
  decodeSteps,
  decodeTexts,
  type JobState,
  SHOWN_BYTES,
  shownColumns,
  type ShownRow,
  STATE_COLUMNS,
  STEP_COLUMNS,
  toJob,
} from "./JobRows.ts"
import { type JobFilter, makeCountedJobs, makeListedJobs } from "./listedJobs.ts"

export type JobReads = Effect.Success<ReturnType<typeof makeJobReads>>

export const makeJobReads = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, ledger: Ledger["Service"]) {
  const { workersPerTenant } = yield* JobSettings
  const listed = makeListedJobs(sql)

  /** Steps with an event id above `after`, in order. */
  const steps = Effect.fnUntraced(function* (jobs: ReadonlyArray<string>, after = 0) {
    if (jobs.length === 0) return []
    const rows = yield* sql`SELECT ${sql.csv(STEP_COLUMNS)} FROM job_steps
      WHERE job_id IN ${sql.in(jobs)} AND event > ${after} ORDER BY job_id, event`
    return yield* decodeSteps(rows)
  })

  const completed = Effect.fnUntraced(function* (rows: ReadonlyArray<ShownRow>) {
    const ids = rows.map(({ id }) => id)
    const byJob = Map.groupBy(yield* steps(ids), (step) => step.job_id)
    const spent = yield* ledger.spent(ids)
    return rows.map((row) =>
      toJob(row, { steps: byJob.get(row.id) ?? [], spent: spent(row.id), tenantLimit: workersPerTenant }),
    )
  })

  const { read, state } = yield* makeLookups(sql, completed)

  const list = Effect.fnUntraced(function* (tenant: TenantId, filter: JobFilter = {}, request?: PageRequest) {
    const { page, wanted } = yield* listed(tenant, filter, request)
    const { items, ...next } = page
    if (items.length === 0) return { items: [], ...next }
    const found =
      yield* sql`SELECT ${shownColumns(sql)} FROM jobs WHERE ${wanted} AND id IN ${sql.in(items)} ORDER BY id DESC`
    const jobs: Page<Job> = { ...next, items: yield* completed(yield* decodeShown(found)) }
    return jobs
  })

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

  return { state, steps, textOf: makeTextOf(sql), read, receipts, list, count: makeCountedJobs(sql) }
})

/** Returns a function that reads the text of a finished step; `undefined` if followers do not get it or the job is gone. */
const makeTextOf = (sql: SqlClient.SqlClient) =>
  Effect.fnUntraced(function* (job: JobId, event: number) {
    // Quotes within texts are escaped, so the pattern finds only the member.
    const rows = yield* sql`SELECT outcome FROM job_steps
      WHERE job_id = ${job} AND event = ${event} AND outcome LIKE '%"since":%'`
    return (yield* decodeTexts(rows))[0]?.outcome
  }, unavailable)

/** Returns lookups by id. Those that arrive at the same time share a query. */
const makeLookups = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  completed: (
    rows: ReadonlyArray<ShownRow>,
  ) => Effect.Effect<ReadonlyArray<Job>, SqlError.SqlError | StorageUnavailable>,
) {
  const stateColumns = sql.literal(STATE_COLUMNS)
  const shownBytes = sql.literal(SHOWN_BYTES)
  const given = givenRows(sql, { tenant: "TEXT", job_id: "TEXT" })

  /** SQL: the requested jobs that belong to the tenants who asked. */
  const owned = (asked: ReadonlyArray<JobRef>) =>
    sql`FROM ${given(asked)} JOIN jobs ON jobs.id = given.job_id AND jobs.tenant = given.tenant`

  const stateOf = yield* makeBatched<JobRef, Option.Option<JobState>>({
    run: Effect.fnUntraced(function* (asked) {
      const rows = yield* decodeStates(yield* sql`SELECT ${stateColumns} ${owned(asked)}`)
      return asked.map((one) => ofThem(one, rows))
    }),
  })

  /** The first of these jobs, as many as a page can hold. */
  const fitting = Effect.fnUntraced(function* (asked: ReadonlyArray<JobRef>) {
    if (asked.length === 1) return asked
    const sizes = yield* sql<PageRow>`SELECT jobs.id, ${shownBytes} AS bytes ${owned(asked)}`
    const bytes = new Map(sizes.map((row) => [row.id, row.bytes]))
    const rows = asked.map(({ job_id: id }) => ({ id, bytes: bytes.get(id) ?? 0 }))
    return asked.slice(0, pageOf(rows, asked.length).items.length)
  })

  const readOne = yield* makeBatched<JobRef, Option.Option<Job>>({
    run: Effect.fnUntraced(function* (asked) {
      const read = yield* fitting(asked)
      const rows = yield* decodeShown(yield* sql`SELECT ${shownColumns(sql)} ${owned(read)}`)
      const jobs = yield* completed(rows)
      return read.map((one) => {
        const index = rows.findIndex((row) => row.id === one.job_id && row.tenant === one.tenant)
        return Option.fromUndefinedOr(jobs[index])
      })
    }),
  })

  const state = Effect.fnUntraced(function* (tenant: TenantId, id: string) {
    // A database may refuse to compare with a malformed id.
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

/** A requested job. One query serves several tenants, so each row must also match its tenant. */
interface JobRef {
  readonly tenant: TenantId
  readonly job_id: JobId
}

const ofThem = ({ job_id, tenant }: JobRef, rows: ReadonlyArray<JobState>): Option.Option<JobState> =>
  Option.fromUndefinedOr(rows.find((row) => row.id === job_id && row.tenant === tenant))
