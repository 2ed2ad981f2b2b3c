/**
 * A worker's writes to its job. Each demands the token of the worker's claim, so a worker that lost its lease, or whose job
 * was cancelled, writes nothing. Simultaneous writes share a transaction.
 */
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { JobId } from "../../domain/jobs/job.ts"
import type { Problem } from "../../domain/problems/problem.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import type { JobResult } from "../../domain/jobs/modes.ts"
import { makeBatched } from "../batched.ts"
import { makeOutbox } from "../webhooks/outbox.ts"
import { givenRows, skipLocked, unavailable, unavailableUnlimited } from "../storedRows.ts"
import { spanned } from "../spans.ts"
import { databaseTime } from "../databaseTime.ts"
import { LINE_COLUMNS, type Lines } from "./concurrency.ts"
import { afterFailure } from "./retryDelays.ts"
import { jobEnded, jobRetried } from "./JobMetrics.ts"
import { JobQueue } from "./JobQueue.ts"
import { JobSettings } from "./JobSettings.ts"
import { changed, ended, JobSignals } from "./JobSignals.ts"
import { HELD_BY_GIVEN, heldBy, type Lease, ranMs } from "./Lease.ts"
import { type FinishedStep, makeRecordStep } from "./stepWrites.ts"
import { type AskedQuestion, encodeQuestion, makeQuestion } from "./storedQuestion.ts"

type Ending =
  | { readonly status: "completed"; readonly result: JobResult }
  | { readonly status: "failed" | "timed_out"; readonly problem: Problem }

/** Why an attempt failed. */
export interface AttemptFailure {
  readonly problem: Problem
  /** The delay that the upstream asked for. */
  readonly retryAfter: Duration.Duration
  /** A fault of this product. It is retried once, because it may have been transient. */
  readonly isFault: boolean
}

/** `false` if the job was no longer this worker's, and nothing was written. */
type Fenced = Effect.Effect<boolean, StorageUnavailable>

export class JobWrites extends Context.Service<
  JobWrites,
  {
    /** Renews leases, and returns the jobs that are still held. */
    readonly renew: (leases: ReadonlyArray<Lease>) => Effect.Effect<ReadonlySet<JobId>, StorageUnavailable>
    readonly recordStep: (lease: Lease, step: FinishedStep) => Fenced
    readonly end: (lease: Lease, ending: Ending) => Fenced
    /** Queues the job for a delayed retry, or ends it if a retry cannot help or it has been failing for too long. */
    readonly fail: (lease: Lease, failure: AttemptFailure) => Fenced
    /** Lets the job wait for a person. This uses no attempt. */
    readonly ask: (lease: Lease, question: AskedQuestion) => Fenced
    /** Puts the job back unchanged, due at once or after a wait for something. This uses no attempt. */
    readonly release: (lease: Lease, wait?: Duration.Duration, waitsFor?: "budget" | "timer") => Fenced
  }
>()("sealgate/services/jobs/JobWrites") {
  static readonly layer = Layer.effect(
    JobWrites,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const queue = yield* JobQueue
      const settings = yield* JobSettings
      const now = databaseTime(sql)
      const end = yield* makeEnd

      return JobWrites.of({
        renew: makeRenew(sql, settings.lease),

        recordStep: yield* makeRecordStep,

        end: (lease, ending) => spanned("JobWrites.end")(unavailableUnlimited(end(lease, ending))),

        fail: Effect.fn("JobWrites.fail")(function* (lease, { isFault, problem, retryAfter }) {
          const { faults, mode } = lease.job
          const [row] = yield* sql<{ failing_since: number | null }>`
            SELECT failing_since FROM jobs WHERE ${heldBy(sql, lease)}`
          if (row === undefined) return false
          const at = yield* Clock.currentTimeMillis
          const since = row.failing_since ?? at
          const failingFor = Duration.millis(Math.max(0, at - since))
          const left = Duration.subtract(settings.retryFor, failingFor)
          const mayHelp = isFault ? faults === 0 : problem.retryable
          if (!mayHelp || !Duration.isPositive(left)) return yield* end(lease, { status: "failed", problem })
          // The last attempt begins exactly when `retryFor` is over.
          const delay = Duration.min(yield* afterFailure(settings, failingFor, retryAfter), left)
          const rows = yield* sql`
            UPDATE jobs SET status = 'queued', attempt = attempt + 1, crashes = 0, lease = NULL,
              due_at = ${now} + ${Math.ceil(Duration.toMillis(delay))}, ran_ms = ${yield* ranMs(lease)},
              failing_since = ${since}, faults = faults + ${isFault ? 1 : 0}
            WHERE ${heldBy(sql, lease)} RETURNING id`
          if (rows.length === 0) return false
          yield* jobRetried(mode)
          return true
        }, unavailable),

        ask: yield* makeAsk,

        release: Effect.fn("JobWrites.release")(function* (lease, wait = Duration.zero, waitsFor = "budget") {
          // After a wait, earlier failures and crashes no longer count.
          const afresh = Duration.isPositive(wait) ? sql`failing_since = NULL, crashes = 0,` : sql``
          const rows = yield* sql`
            UPDATE jobs SET status = 'queued', lease = NULL, ${afresh} due_at = ${now} + ${Math.ceil(Duration.toMillis(wait))},
              ran_ms = ${yield* ranMs(lease)}, waits_for = ${waitsFor}
            WHERE ${heldBy(sql, lease)} RETURNING id`
          if (rows.length > 0) yield* queue.wake
          return rows.length > 0
        }, unavailable),
      })
    }),
  )
}

/** Returns a function that ends a job. Endings of different jobs at the same time share a statement. */
const makeEnd = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const signals = yield* JobSignals
  const queue = yield* JobQueue
  const { retention } = yield* JobSettings
  const endings = givenRows(sql, {
    job_id: "TEXT",
    lease: "TEXT",
    status: "TEXT",
    result: "TEXT",
    problem: "TEXT",
    ran_ms: "BIGINT",
    finished_at: "BIGINT",
    expires_at: "BIGINT",
  })
  const outbox = makeOutbox(sql)
  type Row = Parameters<typeof endings>[0][number]
  const writeRows = (rows: ReadonlyArray<Row>) => sql<
    Lines & { id: JobId }
  >`UPDATE jobs SET status = given.status, result = given.result,
          problem = given.problem, lease = NULL, ran_ms = given.ran_ms, finished_at = given.finished_at,
          expires_at = given.expires_at
        FROM ${endings(rows)} WHERE ${sql.literal(HELD_BY_GIVEN)} RETURNING jobs.id, ${sql.literal(LINE_COLUMNS)}`
  const writeAnnounced = Effect.fnUntraced(function* (rows: ReadonlyArray<Row>) {
    const written = yield* writeRows(rows)
    if (written.length > 0)
      yield* outbox(
        "job.ended",
        written.map(({ id }) => id),
        yield* Clock.currentTimeMillis,
      )
    return written
  }, sql.withTransaction)
  const writeEndings = yield* makeBatched<{ readonly row: Row; readonly isAnnounced: boolean }, Lines | null>({
    keyOf: ({ row }) => row.job_id,
    run: Effect.fnUntraced(function* (items) {
      const rows = items.map(({ row }) => row)
      const written = yield* items.some(({ isAnnounced }) => isAnnounced) ? writeAnnounced(rows) : writeRows(rows)
      yield* Effect.forEach(written, ({ id }) => signals.publish(ended(id)), { discard: true })
      const byId = new Map<unknown, Lines>(written.map((lines) => [lines.id, lines]))
      return rows.map(({ job_id }) => byId.get(job_id) ?? null)
    }),
  })

  return Effect.fnUntraced(function* (lease: Lease, ending: Ending) {
    const { job, token } = lease
    const now = yield* Clock.currentTimeMillis
    const row: Row = {
      job_id: job.id,
      lease: token,
      status: ending.status,
      result: ending.status === "completed" ? JSON.stringify(ending.result) : null,
      problem: ending.status === "completed" ? null : JSON.stringify(ending.problem),
      ran_ms: yield* ranMs(lease),
      finished_at: now,
      expires_at: now + Duration.toMillis(retention),
    }
    const lines = yield* writeEndings({ row, isAnnounced: job.webhook !== null })
    if (lines === null) return false
    yield* jobEnded(job.mode, ending.status, Duration.millis(now - job.created_at))
    yield* queue.admit(lines)
    return true
  })
})

const makeAsk = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const signals = yield* JobSignals
  const outbox = makeOutbox(sql)
  const write = Effect.fnUntraced(function* (lease: Lease, asked: AskedQuestion) {
    const question = yield* makeQuestion(asked)
    // A question gets an event id, so that a resumed stream does not repeat it.
    const rows = yield* sql<{ id: JobId }>`
      UPDATE jobs SET status = 'input_required', lease = NULL, crashes = 0, failing_since = NULL,
        ran_ms = ${yield* ranMs(lease)}, question = ${yield* encodeQuestion(question)},
        input_due_at = ${question.deadline.epochMilliseconds}, last_event = last_event + 1
      WHERE ${heldBy(sql, lease)} RETURNING id`
    if (rows.length === 0) return false
    yield* outbox("job.input_required", [lease.job.id], question.asked_at.epochMilliseconds)
    yield* signals.publish(changed(lease.job.id))
    return true
  }, sql.withTransaction)
  return Effect.fn("JobWrites.ask")(write, unavailable)
})

const makeRenew = (sql: SqlClient.SqlClient, lease: Duration.Duration) => {
  const renewWhere = (which: Statement.Fragment) =>
    Effect.map(
      sql<{ id: JobId }>`UPDATE jobs SET due_at = ${databaseTime(sql)} + ${Duration.toMillis(lease)}
        WHERE id IN (${which}) RETURNING id`,
      (rows) => rows.map(({ id }) => id),
    )
  const heldOf = (leases: ReadonlyArray<Lease>) => sql`SELECT id FROM jobs
    WHERE id IN ${sql.in(leases.map(({ job }) => job.id))} AND status = 'running'
      AND lease IN ${sql.in([...new Set(leases.map(({ token }) => token))])}`
  // Skips locked rows: step batches lock rows in another order, so waiting could deadlock.
  const unlocked = skipLocked(sql, "NO KEY UPDATE")

  return Effect.fn("JobWrites.renew")(function* (leases: ReadonlyArray<Lease>) {
    if (leases.length === 0) return new Set<JobId>()
    const renewed = new Set(yield* renewWhere(sql`${heldOf(leases)} ${unlocked}`))
    // One row at a time cannot deadlock.
    for (const lease of leases) {
      if (!renewed.has(lease.job.id)) for (const id of yield* renewWhere(heldOf([lease]))) renewed.add(id)
    }
    return renewed
  }, unavailable)
}
