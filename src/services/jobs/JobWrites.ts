/**
 * What a worker may do to a job, and only as long as the job is its own: every write demands the token that the worker
 * was given when it claimed the job. A worker that was taken for dead, or whose job was cancelled, writes nothing. What
 * the workers of a process have to write at the same time goes into one transaction.
 */
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { KeptReceipt } from "../../domain/protocol/keptReceipt.ts"
import type { JobId, StepCall } from "../../domain/jobs/job.ts"
import type { Problem } from "../../domain/problems/problem.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import type { JobResult } from "../../domain/jobs/modes.ts"
import { type Step, stepName } from "../../domain/jobs/step.ts"
import { makeBatched } from "../batched.ts"
import { thisMoment } from "../moments.ts"
import { givenRows, inTime, unavailable, unavailableUnlimited } from "../storedRows.ts"
import { spanned } from "../spans.ts"
import { databaseTime } from "./databaseTime.ts"
import { afterFailure } from "./delays.ts"
import { jobEnded, jobRetried } from "./JobMetrics.ts"
import { JobQueue } from "./JobQueue.ts"
import { JobSettings } from "./JobSettings.ts"
import { changed, ended, JobSignals } from "./JobSignals.ts"
import type { Lease } from "./Lease.ts"

/** A step that finished, with its outcome as JSON if it succeeded. Times in milliseconds since the epoch. */
export interface FinishedStep {
  readonly step: Step
  readonly outcome: string | null
  readonly call: StepCall | null
  readonly receipt?: KeptReceipt | undefined
  readonly startedAt: number
  readonly finishedAt: number
}

/** How a job ends in its worker's hands. */
type Ending =
  | { readonly status: "completed"; readonly result: JobResult }
  | { readonly status: "failed" | "timed_out"; readonly problem: Problem }

/** Why an attempt failed. */
export interface Failure {
  readonly problem: Problem
  /** How long the upstream asked to be left alone. */
  readonly retryAfter: Duration.Duration
  /** A fault of this product, whose kind nobody knows. It may have been bad luck, once. */
  readonly isFault: boolean
}

/** `false`: the job was no longer this worker's, and nothing was written. */
type Fenced = Effect.Effect<boolean, StorageUnavailable>

/** Writes that go together at most. */
const MOST = 64

export class JobWrites extends Context.Service<
  JobWrites,
  {
    readonly isHeld: (lease: Lease) => Fenced
    /** Says that the workers of these jobs live; returns the jobs that are still theirs. */
    readonly renew: (leases: ReadonlyArray<Lease>) => Effect.Effect<ReadonlySet<JobId>, StorageUnavailable>
    readonly recordStep: (lease: Lease, step: FinishedStep) => Fenced
    readonly end: (lease: Lease, ending: Ending) => Fenced
    /** Puts the job back for its next attempt, after a while; ends it where none may help, or it failed for too long. */
    readonly fail: (lease: Lease, failure: Failure) => Fenced
    /** Puts the job back as it is, for other processes to take at once: no attempt is used. */
    readonly release: (lease: Lease) => Fenced
  }
>()("sealgate/services/jobs/JobWrites") {
  static readonly layer = Layer.effect(
    JobWrites,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const queue = yield* JobQueue
      const signals = yield* JobSignals
      const settings = yield* JobSettings
      const time = databaseTime(sql)

      /** The rows that are still this lease's: one or none. */
      const held = ({ job, token }: Lease) => sql`id = ${job.id} AND status = 'running' AND lease = ${token}`
      /** The same for leases that are given as rows. */
      const areHeld = sql.literal("jobs.id = given.job_id AND jobs.status = 'running' AND jobs.lease = given.lease")

      const ranMs = ({ job, since }: Lease) =>
        Effect.map(thisMoment, (moment) => job.ran_ms + Math.max(0, Math.round(moment - since)))

      const columnsOf = (
        { job, token }: Lease,
        { call, finishedAt, outcome, receipt, startedAt, step }: FinishedStep,
      ) => ({
        job_id: job.id,
        lease: token,
        name: stepName(step),
        step: JSON.stringify(step),
        status: outcome === null ? "failed" : "completed",
        outcome,
        call: call === null ? null : JSON.stringify(call),
        receipt: receipt === undefined ? null : JSON.stringify(receipt),
        started_at: startedAt,
        finished_at: finishedAt,
      })
      const steps = givenRows(sql, {
        job_id: "TEXT",
        lease: "TEXT",
        ran_ms: "BIGINT",
        name: "TEXT",
        step: "TEXT",
        status: "TEXT",
        outcome: "TEXT",
        call: "TEXT",
        receipt: "TEXT",
        started_at: "BIGINT",
        finished_at: "BIGINT",
      })
      type StepRow = Parameters<typeof steps>[0][number]

      const counted = sql.literal(
        "last_event = last_event + 1, crashes = 0, failing_since = NULL, ran_ms = given.ran_ms",
      )
      const step = sql.literal("job_id, event, name, step, status, outcome, call, receipt, started_at, finished_at")
      const given = sql.literal(
        "job_id, last_event, name, step, given.status, outcome, call, receipt, given.started_at, given.finished_at",
      )

      /** Stores steps of different jobs that succeeded, and says of which jobs. */
      const writeSteps = sql.onDialectOrElse({
        pg: () => (rows: ReadonlyArray<StepRow>) =>
          sql<{ id: JobId }>`WITH given AS (SELECT * FROM ${steps(rows)}),
            held AS (UPDATE jobs SET ${counted} FROM given WHERE ${areHeld} RETURNING jobs.id, last_event),
            written AS (INSERT INTO job_steps (${step}) SELECT ${given} FROM given JOIN held ON id = job_id
              ON CONFLICT DO NOTHING)
            SELECT id FROM held`,
        orElse: () => (rows: ReadonlyArray<StepRow>) =>
          sql.withTransaction(
            Effect.tap(
              sql<{ id: JobId }>`UPDATE jobs SET ${counted} FROM ${steps(rows)} WHERE ${areHeld} RETURNING id`,
              sql`INSERT INTO job_steps (${step}) SELECT ${given} FROM ${steps(rows)} JOIN jobs ON ${areHeld}
                WHERE TRUE ON CONFLICT DO NOTHING`,
            ),
          ),
      })

      const recordSucceeded = yield* makeBatched<StepRow, boolean>({
        most: MOST,
        keyOf: ({ job_id }) => job_id,
        run: Effect.fnUntraced(function* (rows) {
          const written = new Set((yield* writeSteps(rows)).map(({ id }) => id))
          yield* Effect.forEach(written, (id) => signals.publish(changed(id)), { discard: true })
          return rows.map(({ job_id }) => written.has(job_id as JobId))
        }),
      })

      const recordFailed = Effect.fnUntraced(function* (lease: Lease, step: FinishedStep) {
        const { lease: _, ...columns } = columnsOf(lease, step)
        const rows = yield* sql<{ last_event: number }>`
          UPDATE jobs SET last_event = last_event + 1, crashes = 0, ran_ms = ${yield* ranMs(lease)}
          WHERE ${held(lease)} RETURNING last_event`
        const [row] = rows
        if (row === undefined) return false
        // Written again, after a commit whose answer was lost, a step is there already. An index says so of one that
        // succeeded; others are looked for, and not before the job's row is locked and so that commit is over.
        const same = yield* sql`SELECT event FROM job_steps WHERE job_id = ${columns.job_id} AND name = ${columns.name}
          AND status = 'failed' AND started_at = ${columns.started_at} AND finished_at = ${columns.finished_at}`
        if (same.length > 0) return true
        yield* sql`INSERT INTO job_steps ${sql.insert({ ...columns, event: row.last_event })}`
        yield* signals.publish(changed(lease.job.id))
        return true
      }, sql.withTransaction)

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
      const writeEndings = yield* makeBatched<Parameters<typeof endings>[0][number], boolean>({
        most: MOST,
        keyOf: ({ job_id }) => job_id,
        run: Effect.fnUntraced(function* (rows) {
          const written = yield* sql<{ id: JobId }>`UPDATE jobs SET status = given.status, result = given.result,
              problem = given.problem, lease = NULL, ran_ms = given.ran_ms, finished_at = given.finished_at,
              expires_at = given.expires_at
            FROM ${endings(rows)} WHERE ${areHeld} RETURNING jobs.id`
          const ids = new Set(written.map(({ id }) => id))
          yield* Effect.forEach(ids, (id) => signals.publish(ended(id)), { discard: true })
          return rows.map(({ job_id }) => ids.has(job_id as JobId))
        }),
      })

      const end = Effect.fnUntraced(function* (lease: Lease, ending: Ending) {
        const { job, token } = lease
        const now = yield* Clock.currentTimeMillis
        const isEnded = yield* writeEndings({
          job_id: job.id,
          lease: token,
          status: ending.status,
          result: ending.status === "completed" ? JSON.stringify(ending.result) : null,
          problem: ending.status === "completed" ? null : JSON.stringify(ending.problem),
          ran_ms: yield* ranMs(lease),
          finished_at: now,
          expires_at: now + Duration.toMillis(settings.retention),
        })
        if (isEnded) yield* jobEnded(job.mode, ending.status, Duration.millis(now - job.created_at))
        return isEnded
      })

      const renewWhere = (which: Statement.Fragment) =>
        Effect.map(
          sql<{ id: JobId }>`UPDATE jobs SET due_at = ${time} + ${Duration.toMillis(settings.lease)}
            WHERE id IN (${which}) RETURNING id`,
          (rows) => rows.map(({ id }) => id),
        )
      const theirs = (leases: ReadonlyArray<Lease>) => sql`SELECT id FROM jobs
        WHERE id IN ${sql.in(leases.map(({ job }) => job.id))} AND status = 'running'
          AND lease IN ${sql.in([...new Set(leases.map(({ token }) => token))])}`
      const renewThese = (leases: ReadonlyArray<Lease>) => renewWhere(theirs(leases))
      /**
       * Renews those that nobody is writing to. Who holds one job and waits for another may be waited for: a batch of
       * steps has its jobs in another order.
       */
      const renewFree = (leases: ReadonlyArray<Lease>) => {
        if (leases.length === 0) return Effect.succeed([])
        return sql.onDialectOrElse({
          pg: () => renewWhere(sql`${theirs(leases)} FOR NO KEY UPDATE SKIP LOCKED`),
          orElse: () => renewThese(leases),
        })
      }

      return JobWrites.of({
        isHeld: (lease) =>
          sql`SELECT id FROM jobs WHERE ${held(lease)}`.pipe(
            Effect.map((rows) => rows.length > 0),
            unavailable,
          ),

        renew: Effect.fn("JobWrites.renew")(function* (leases) {
          const renewed = new Set(yield* renewFree(leases))
          for (const lease of leases) {
            if (!renewed.has(lease.job.id)) for (const id of yield* renewThese([lease])) renewed.add(id)
          }
          return renewed
        }, unavailable),

        recordStep: Effect.fnUntraced(
          function* (lease, step) {
            if (step.outcome === null) return yield* inTime(recordFailed(lease, step))
            return yield* recordSucceeded({ ...columnsOf(lease, step), ran_ms: yield* ranMs(lease) })
          },
          unavailableUnlimited,
          spanned("JobWrites.recordStep"),
        ),

        end: (lease, ending) => spanned("JobWrites.end")(unavailableUnlimited(end(lease, ending))),

        fail: Effect.fn("JobWrites.fail")(function* (lease, { isFault, problem, retryAfter }) {
          const { faults, mode } = lease.job
          const [row] = yield* sql<{ failing_since: number | null }>`
            SELECT failing_since FROM jobs WHERE ${held(lease)}`
          if (row === undefined) return false
          const now = yield* Clock.currentTimeMillis
          const since = row.failing_since ?? now
          const failingFor = Duration.millis(Math.max(0, now - since))
          const left = Duration.subtract(settings.retryFor, failingFor)
          const mayHelp = isFault ? faults === 0 : problem.retryable
          if (!mayHelp || !Duration.isPositive(left)) return yield* end(lease, { status: "failed", problem })
          // The last attempt is made when the time is over, not before.
          const delay = Duration.min(yield* afterFailure(settings, failingFor, retryAfter), left)
          const rows = yield* sql`
            UPDATE jobs SET status = 'queued', attempt = attempt + 1, crashes = 0, lease = NULL,
              due_at = ${time} + ${Math.ceil(Duration.toMillis(delay))}, ran_ms = ${yield* ranMs(lease)},
              failing_since = ${since}, faults = faults + ${isFault ? 1 : 0}
            WHERE ${held(lease)} RETURNING id`
          if (rows.length === 0) return false
          yield* jobRetried(mode)
          return true
        }, unavailable),

        release: Effect.fn("JobWrites.release")(function* (lease) {
          const rows = yield* sql`
            UPDATE jobs SET status = 'queued', lease = NULL, due_at = ${time}, ran_ms = ${yield* ranMs(lease)}
            WHERE ${held(lease)} RETURNING id`
          if (rows.length > 0) yield* queue.wake
          return rows.length > 0
        }, unavailable),
      })
    }),
  )
}
