/**
 * What a worker may do to a job, and only as long as the job is its own: every write demands the token that the worker
 * was given when it started the job. A worker that was taken for dead, or whose job was cancelled, writes nothing.
 */
import { Clock, Context, Duration, Effect, Layer, Option } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { KeptReceipt } from "../../domain/keptReceipt.ts"
import type { StepCall } from "../../domain/job.ts"
import { makeProblem, type Problem } from "../../domain/problem.ts"
import type { StorageUnavailable } from "../../domain/storage.ts"
import type { JobResult, Mode } from "../../domain/modes.ts"
import { type Step, stepName } from "../../domain/step.ts"
import { unavailable } from "../storedRows.ts"
import { afterCrash, afterFailure } from "./delays.ts"
import { jobEnded, jobRetried, jobTakenOver } from "./JobMetrics.ts"
import { type Element, JobQueue } from "./JobQueue.ts"
import {
  decodeJobs,
  encodeCall,
  encodeProblem,
  encodeReceipt,
  encodeResult,
  encodeStep,
  type JobRow,
} from "./JobRows.ts"
import { JobSettings } from "./JobSettings.ts"
import { changed, JobSignals, stopped } from "./JobSignals.ts"

/** A job that this process works on. */
export interface Lease {
  readonly job: JobRow
  /** Only its holder writes to the job. */
  readonly token: string
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  /** The stored outcomes, JSON, of the steps that have finished, by name. */
  readonly finished: ReadonlyMap<string, string>
}

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
export type Ending =
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

export class JobLeases extends Context.Service<
  JobLeases,
  {
    /**
     * Makes the job this worker's. It does not when the element is out of date, because the job ended or was put back
     * since, and not when too many workers died with the job: then it waits for a while or, in the end, fails.
     */
    readonly start: (element: Element) => Effect.Effect<Option.Option<Lease>, StorageUnavailable>
    readonly isHeld: (lease: Lease) => Fenced
    readonly recordStep: (lease: Lease, step: FinishedStep) => Fenced
    readonly end: (lease: Lease, ending: Ending) => Fenced
    /** Puts the job back for its next attempt, after a while; ends it where none may help, or it failed for too long. */
    readonly fail: (lease: Lease, failure: Failure) => Fenced
    /** Puts the job back as it is, for other processes to take at once: no attempt is used. */
    readonly release: (lease: Lease) => Fenced
  }
>()("sealgate/services/jobs/JobLeases") {
  static readonly layer = Layer.effect(
    JobLeases,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const queue = yield* JobQueue
      const signals = yield* JobSignals
      const random = yield* SecureRandom.SecureRandom
      const settings = yield* JobSettings

      /** The rows that are still this lease's: one or none. */
      const held = ({ job, token }: Lease) => sql`id = ${job.id} AND status = 'running' AND lease = ${token}`

      const ranMs = ({ job, startedAt }: Lease) =>
        Effect.map(Clock.currentTimeMillis, (now) => job.ran_ms + Math.max(0, now - startedAt))

      const finish = Effect.fnUntraced(function* (lease: Lease, ending: Ending) {
        const { job } = lease
        const now = yield* Clock.currentTimeMillis
        const result = ending.status === "completed" ? yield* encodeResult(ending.result) : null
        const problem = ending.status === "completed" ? null : yield* encodeProblem(ending.problem)
        const rows = yield* sql`
          UPDATE jobs SET status = ${ending.status}, result = ${result}, problem = ${problem}, lease = NULL,
            ran_ms = ${yield* ranMs(lease)}, finished_at = ${now},
            expires_at = ${now + Duration.toMillis(settings.retention)}
          WHERE ${held(lease)} RETURNING id`
        if (rows.length === 0) return false
        yield* signals.publish(changed(job.id))
        const lasted = Duration.millis(now - job.created_at.epochMilliseconds)
        yield* sql.afterCommit(jobEnded(job.mode, ending.status, lasted))
        return true
      }, sql.withTransaction)

      /** Takes the job from the worker that died with it, if one did; says how many did in a row. */
      const takeOver = Effect.fnUntraced(function* (element: Element) {
        const rows = yield* sql<{ crashes: number; mode: Mode }>`
          UPDATE jobs SET status = 'queued', lease = NULL, crashes = crashes + 1
          WHERE id = ${element.job} AND turn = ${element.turn} AND status = 'running' RETURNING crashes, mode`
        const [row] = rows
        if (row === undefined) return 0
        // Should it be alive after all, it lets go of the job now and not only with its next write.
        yield* signals.publish(stopped(element.job))
        yield* sql.afterCommit(jobTakenOver(row.mode))
        return row.crashes
      })

      const putBack = Effect.fnUntraced(function* (element: Element, delay: Duration.Duration) {
        const turn = element.turn + 1
        yield* sql`UPDATE jobs SET turn = ${turn} WHERE id = ${element.job}`
        yield* queue.offer({ job: element.job, turn }, delay)
      })

      const take = Effect.fnUntraced(function* (element: Element) {
        const [token, startedAt] = [yield* random.uuidV4(), yield* Clock.currentTimeMillis]
        const rows = yield* sql`
          UPDATE jobs SET status = 'running', lease = ${token}, started_at = COALESCE(started_at, ${startedAt})
          WHERE id = ${element.job} AND turn = ${element.turn} AND status = 'queued' RETURNING *`
        const [job] = yield* decodeJobs(rows)
        if (job === undefined) return Option.none<Lease>()
        const steps = yield* sql<{ name: string; outcome: string }>`
          SELECT name, outcome FROM job_steps WHERE job_id = ${job.id} AND status = 'completed'`
        const finished = new Map(steps.map((step) => [step.name, step.outcome]))
        return Option.some<Lease>({ job, token, startedAt, finished })
      })

      return JobLeases.of({
        start: Effect.fn("JobLeases.start")(
          function* (element) {
            const crashes = yield* takeOver(element)
            const suspicion = crashes - settings.innocentCrashes
            if (suspicion > 0 && crashes <= settings.maxCrashes) {
              yield* putBack(element, afterCrash(settings, suspicion))
              return Option.none()
            }
            const lease = yield* take(element)
            if (Option.isNone(lease) || crashes <= settings.maxCrashes) return lease
            yield* finish(lease.value, { status: "failed", problem: crashed(crashes) })
            return Option.none()
          },
          sql.withTransaction,
          unavailable,
        ),

        isHeld: (lease) =>
          sql`SELECT id FROM jobs WHERE ${held(lease)}`.pipe(
            Effect.map((rows) => rows.length > 0),
            unavailable,
          ),

        recordStep: Effect.fn("JobLeases.recordStep")(
          function* (lease, step) {
            const id = lease.job.id
            const name = stepName(step.step)
            const status = step.outcome === null ? "failed" : "completed"
            const rows = yield* sql<{ last_event: number }>`
              UPDATE jobs SET last_event = last_event + 1, crashes = 0, ran_ms = ${yield* ranMs(lease)},
                failing_since = CASE WHEN ${status} = 'completed' THEN NULL ELSE failing_since END
              WHERE ${held(lease)} RETURNING last_event`
            const [row] = rows
            if (row === undefined) return false
            // Written again, after a commit whose answer was lost, a step is there already. An index says so of one that
            // succeeded; others are looked for, and not before the job's row is locked and so that commit is over.
            const same = sql`job_id = ${id} AND name = ${name} AND status = ${status}
              AND started_at = ${step.startedAt} AND finished_at = ${step.finishedAt}`
            if (status === "failed" && (yield* sql`SELECT event FROM job_steps WHERE ${same}`).length > 0) return true
            const record = {
              job_id: id,
              event: row.last_event,
              name,
              step: yield* encodeStep(step.step),
              status,
              outcome: step.outcome,
              call: step.call === null ? null : yield* encodeCall(step.call),
              receipt: step.receipt === undefined ? null : yield* encodeReceipt(step.receipt),
              started_at: step.startedAt,
              finished_at: step.finishedAt,
            }
            yield* sql`INSERT INTO job_steps ${sql.insert(record)} ON CONFLICT DO NOTHING`
            yield* signals.publish(changed(id))
            return true
          },
          sql.withTransaction,
          unavailable,
        ),

        end: Effect.fn("JobLeases.end")(finish, unavailable),

        fail: Effect.fn("JobLeases.fail")(
          function* (lease, { isFault, problem, retryAfter }) {
            const { faults, id, mode, turn } = lease.job
            const [row] = yield* sql<{ failing_since: number | null }>`
              SELECT failing_since FROM jobs WHERE ${held(lease)}`
            if (row === undefined) return false
            const now = yield* Clock.currentTimeMillis
            const since = row.failing_since ?? now
            const failingFor = Duration.millis(Math.max(0, now - since))
            const left = Duration.subtract(settings.retryFor, failingFor)
            const mayHelp = isFault ? faults === 0 : problem.retryable
            if (!mayHelp || !Duration.isPositive(left)) return yield* finish(lease, { status: "failed", problem })
            const rows = yield* sql`
              UPDATE jobs SET status = 'queued', attempt = attempt + 1, turn = turn + 1, crashes = 0, lease = NULL,
                ran_ms = ${yield* ranMs(lease)}, failing_since = ${since}, faults = faults + ${isFault ? 1 : 0}
              WHERE ${held(lease)} RETURNING id`
            if (rows.length === 0) return false
            // The last attempt is made when the time is over, not before.
            const delay = Duration.min(yield* afterFailure(settings, failingFor, retryAfter), left)
            yield* queue.offer({ job: id, turn: turn + 1 }, delay)
            yield* sql.afterCommit(jobRetried(mode))
            return true
          },
          sql.withTransaction,
          unavailable,
        ),

        release: Effect.fn("JobLeases.release")(
          function* (lease) {
            const { id, turn } = lease.job
            const rows = yield* sql`
              UPDATE jobs SET status = 'queued', turn = turn + 1, lease = NULL, ran_ms = ${yield* ranMs(lease)}
              WHERE ${held(lease)} RETURNING id`
            if (rows.length === 0) return false
            yield* queue.offer({ job: id, turn: turn + 1 })
            return true
          },
          sql.withTransaction,
          unavailable,
        ),
      })
    }),
  ).pipe(Layer.provide(SecureRandom.layerWebCrypto))
}

const crashed = (crashes: number): Problem =>
  makeProblem({
    code: "job-crashed-workers",
    status: 500,
    title: "The job kept crashing its workers.",
    detail: `${crashes} workers in a row died while working on this job, without it finishing a step. It is not tried again.`,
    retryable: false,
  })
