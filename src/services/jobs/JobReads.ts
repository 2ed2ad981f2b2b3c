/** Queries for jobs. Each is restricted to one tenant. */
import { DateTime, Effect, Option, Schema } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import type { KeyLimits } from "../../domain/access/identity.ts"
import type { TenantId } from "../../domain/jobs/agent.ts"
import { type Job, JobId, JobNotFound, type JobReceipt, type JobStatus } from "../../domain/jobs/job.ts"
import type { Mode } from "../../domain/jobs/modes.ts"
import {
  firstIdAt,
  type Page,
  type PageRequest,
  type PageRow,
  pageBounds,
  pageOf,
  type StorageUnavailable,
} from "../../domain/operations/storage.ts"
import { makeBatched } from "../batched.ts"
import type { Ledger } from "../routing/Ledger.ts"
import { givenRows, permitted, unavailable } from "../storedRows.ts"
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

/** Restricts a list of jobs. */
export interface JobFilter {
  /** The agents that the caller's key permits. */
  readonly agents?: KeyLimits["agents"]
  readonly agent_id?: string | undefined
  readonly thread_id?: string | undefined
  readonly status?: JobStatus | undefined
  readonly mode?: Mode | undefined
  /** Created at `from` or later, and before `to`. */
  readonly from?: DateTime.Utc | undefined
  readonly to?: DateTime.Utc | undefined
  /** A part of the task, the id or the trace id. */
  readonly q?: string | undefined
}

/** Maximum number of jobs that a search reads for one page, beside the limit of a page's bytes. */
const SEARCHED = 1000

/** An id is made after its job's `created_at` was read, and ids do not go back with the clock. */
const SKEW_MS = 60_000

const msOf = (time: DateTime.Utc): number => DateTime.toEpochMillis(time)

/** The condition for a tenant's jobs that pass a filter, its text aside. */
const wantedOf = (
  sql: SqlClient.SqlClient,
  tenant: TenantId,
  { agent_id, agents, from, mode, status, thread_id, to }: JobFilter,
) =>
  // Ids sort by time, so that the index finds the jobs of a span.
  sql.and([
    sql`tenant = ${tenant}`,
    permitted(sql, "agent_id", agents),
    ...(agent_id === undefined ? [] : [sql`agent_id = ${agent_id}`]),
    ...(thread_id === undefined ? [] : [sql`thread = ${thread_id}`]),
    ...(status === undefined ? [] : [sql`status = ${status}`]),
    ...(mode === undefined ? [] : [sql`mode = ${mode}`]),
    ...(from === undefined ? [] : [sql`created_at >= ${msOf(from)}`, sql`id >= ${firstIdAt(msOf(from))}`]),
    ...(to === undefined ? [] : [sql`created_at < ${msOf(to)}`, sql`id < ${firstIdAt(msOf(to) + SKEW_MS)}`]),
  ])

export type JobReads = Effect.Success<ReturnType<typeof makeJobReads>>

export const makeJobReads = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, ledger: Ledger["Service"]) {
  const { workersPerTenant } = yield* JobSettings
  const shownBytes = sql.literal(SHOWN_BYTES)
  // LIKE would cost the product of text and pattern. SQLite's `lower` changes ASCII letters only.
  const placeOf = sql.onDialectOrElse({ pg: () => sql`strpos`, orElse: () => sql`instr` })

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
    return rows.map((row) =>
      toJob(row, { steps: byJob.get(row.id) ?? [], spent: spent(row.id), tenantLimit: workersPerTenant }),
    )
  })

  const { read, state } = yield* makeLookups(sql, completed)

  /**
   * Ids of a page whose jobs contain a text. Reads a bounded number of tasks, so a page may be empty although more
   * follow.
   */
  const search = Effect.fnUntraced(function* (wanted: Statement.Fragment, text: string, before: string, limit: number) {
    const rows = yield* sql<PageRow>`SELECT id, octet_length(task) AS bytes FROM jobs
      WHERE ${wanted} AND id < ${before} ORDER BY id DESC LIMIT ${SEARCHED + 1}`
    const { items, ...next } = pageOf(rows, SEARCHED)
    if (items.length === 0) return { items: [] }
    // As it is within JSON.
    const part = JSON.stringify(text).slice(1, -1)
    const has = sql.or(
      ["task", "id", "traceparent"].map((column) => sql`${placeOf}(lower(${sql.literal(column)}), lower(${part})) > 0`),
    )
    const found = yield* sql<PageRow>`SELECT id, ${shownBytes} AS bytes FROM jobs
      WHERE id IN ${sql.in(items)} AND ${has} ORDER BY id DESC LIMIT ${limit + 1}`
    return { ...next, ...pageOf(found, limit) }
  })

  const list = Effect.fnUntraced(function* (tenant: TenantId, filter: JobFilter = {}, page?: PageRequest) {
    const { before, limit } = yield* pageBounds(page)
    const { q } = filter
    const wanted = wantedOf(sql, tenant, filter)
    // Chooses the rows of the page by size before reading them: together they may exceed memory.
    const { items, ...next } =
      q === undefined
        ? pageOf(
            yield* sql<PageRow>`SELECT id, ${shownBytes} AS bytes FROM jobs
              WHERE ${wanted} AND id < ${before} ORDER BY id DESC LIMIT ${limit + 1}`,
            limit,
          )
        : yield* search(wanted, q, before, limit)
    if (items.length === 0) return { items: [], ...next }
    const found =
      yield* sql`SELECT ${shownColumns(sql)} FROM jobs WHERE ${wanted} AND id IN ${sql.in(items)} ORDER BY id DESC`
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

  return { state, steps, textOf: makeTextOf(sql), read, receipts, list }
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
interface JobRef {
  readonly tenant: TenantId
  readonly job_id: JobId
}

const ofThem = ({ job_id, tenant }: JobRef, rows: ReadonlyArray<JobState>): Option.Option<JobState> =>
  Option.fromUndefinedOr(rows.find((row) => row.id === job_id && row.tenant === tenant))
