/** Jobs for their owners: enqueue, read, wait, follow, cancel. Each call sees only its tenant's jobs. */
import { Clock, Context, type DateTime, Duration, Effect, Layer, type Stream } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { KeyLimits } from "../../domain/access/identity.ts"
import type { AgentNotFound, TenantId } from "../../domain/jobs/agent.ts"
import {
  type ExecuteRequest,
  type IdempotencyInFlight,
  type IdempotencyKey,
  type IdempotencyMismatch,
  type Job,
  type JobId,
  JobNotFound,
  JobNotResumable,
  type JobReceipt,
  type JobStatus,
  type OutputSchemaRefused,
  type TooManyJobs,
} from "../../domain/jobs/job.ts"
import type { ModeUnknown } from "../../domain/jobs/modes/own.ts"
import { ThreadBusy, type ThreadNotFound } from "../../domain/jobs/thread.ts"
import type { JobEvent, JobPosition } from "../../domain/jobs/jobEvents.ts"
import type { InputInvalid, InputNotRequired, JobInput } from "../../domain/jobs/question.ts"
import type { JobSummary } from "../../domain/jobs/summary.ts"
import type { CursorInvalid, Page, PageRequest, StorageUnavailable } from "../../domain/operations/storage.ts"
import { TenantQuotas } from "../access/TenantQuotas.ts"
import { Ledger } from "../routing/Ledger.ts"
import { databaseTime } from "../databaseTime.ts"
import { spanned } from "../spans.ts"
import { isDuplicate, unavailable, unavailableUnlimited } from "../storedRows.ts"
import { TenantChanges } from "../TenantChanges.ts"
import { makeOutbox } from "../webhooks/outbox.ts"
import { LINE_COLUMNS, type Lines, newLines } from "./concurrency.ts"
import { isOpen, makeEnqueue, tooManyJobs } from "./enqueue.ts"
import { answerRequest, makeKeyRecords, type NamedAnswer, type ScheduledTime } from "./Idempotency.ts"
import { makeFollowing } from "./following.ts"
import { jobEnded, type QueueState } from "./JobMetrics.ts"
import { JobQueue } from "./JobQueue.ts"
import { makePersonAnswers } from "./personAnswers.ts"
import { type JobReads, makeJobReads } from "./JobReads.ts"
import type { JobState } from "./JobRows.ts"
import type { JobFilter } from "./listedJobs.ts"
import { JobSettings } from "./JobSettings.ts"
import { makeNextRank, STEP } from "./ranks.ts"
import { ended, JobSignals, stopped } from "./JobSignals.ts"
import { makeSummary } from "./summary.ts"

export class Jobs extends Context.Service<
  Jobs,
  {
    /**
     * Creates a job from the request. When it returns, the job is on disk: job, place in the queue and idempotency key
     * are one transaction. `by` is the caller's key, whose limits bind the job.
     */
    readonly enqueue: (
      tenant: TenantId,
      agentId: string,
      request: ExecuteRequest,
      key?: IdempotencyKey | ScheduledTime,
      by?: KeyLimits,
    ) => Effect.Effect<
      Job,
      | AgentNotFound
      | IdempotencyMismatch
      | IdempotencyInFlight
      | ModeUnknown
      | OutputSchemaRefused
      | ThreadBusy
      | ThreadNotFound
      | TooManyJobs
      | StorageUnavailable
    >
    readonly get: (tenant: TenantId, id: string) => Effect.Effect<Job, JobNotFound | StorageUnavailable>
    /** Newest first. */
    readonly list: (
      tenant: TenantId,
      filter?: JobFilter,
      page?: PageRequest,
    ) => Effect.Effect<Page<Job>, CursorInvalid | StorageUnavailable>
    /** The number of jobs in such a list, among the newest 2000 of its agent or thread. */
    readonly count: (tenant: TenantId, filter: Omit<JobFilter, "q">) => Effect.Effect<number, StorageUnavailable>
    /** The numbers of jobs by status, ended ones counted from `from`, and the costs of recent ones. */
    readonly summary: (tenant: TenantId, from: DateTime.Utc) => Effect.Effect<JobSummary, StorageUnavailable>
    /** Waits until the job ends, `patience` runs out, or `enough` returns, and returns the job as it is then. */
    readonly wait: (
      tenant: TenantId,
      id: string,
      patience: Duration.Input,
      enough?: Effect.Effect<void>,
    ) => Effect.Effect<Job, JobNotFound | StorageUnavailable>
    /** Streams the events after `after` (default: all): steps, texts as they are written, then the ended job. */
    readonly events: (
      tenant: TenantId,
      id: string,
      after?: JobPosition,
    ) => Stream.Stream<JobEvent, JobNotFound | StorageUnavailable>
    /** The receipts of the job's steps; empty if it called no sealed proxy. */
    readonly receipts: (
      tenant: TenantId,
      id: string,
    ) => Effect.Effect<ReadonlyArray<JobReceipt>, JobNotFound | StorageUnavailable>
    /** Ends the job and interrupts its worker in any process. An ended job stays unchanged: `wasOpen` is `false` then. */
    readonly cancel: (
      tenant: TenantId,
      id: string,
    ) => Effect.Effect<{ readonly job: Job; readonly wasOpen: boolean }, JobNotFound | StorageUnavailable>
    /**
     * Queues again a job that failed or ran out of time, with as much time as a new one. It continues after its
     * finished steps, with the agent as it was when the job was enqueued.
     */
    readonly resume: (
      tenant: TenantId,
      id: string,
    ) => Effect.Effect<Job, JobNotFound | JobNotResumable | ThreadBusy | TooManyJobs | StorageUnavailable>
    /** Deletes the job with its steps, receipts and idempotency keys, and interrupts its worker in any process. */
    readonly remove: (tenant: TenantId, id: string) => Effect.Effect<void, JobNotFound | StorageUnavailable>
    /**
     * Answers the question that the job waits for; the job then continues. An answer with a key is taken once in 24
     * hours.
     */
    readonly input: (
      tenant: TenantId,
      id: string,
      input: JobInput,
      named?: NamedAnswer,
    ) => Effect.Effect<Job, JobNotFound | InputInvalid | InputNotRequired | StorageUnavailable>
    /** Whether the job took this answer within 24 hours. Fails if it took another under the same key. */
    readonly took: (
      tenant: TenantId,
      id: JobId,
      named: NamedAnswer,
    ) => Effect.Effect<boolean, IdempotencyMismatch | StorageUnavailable>
    /** All tenants' open jobs, for readiness and metrics. */
    readonly queueState: Effect.Effect<QueueState, StorageUnavailable>
  }
>()("sealgate/services/jobs/Jobs") {
  static readonly layer = Layer.effect(
    Jobs,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const signals = yield* JobSignals
      const { retention } = yield* JobSettings
      const { openJobs } = yield* TenantQuotas
      const ledger = yield* Ledger
      const queue = yield* JobQueue
      const reads = yield* makeJobReads(sql, ledger)
      const { read, state } = reads
      const note = yield* makeNote
      const endCancelled = yield* makeEndCancelled

      /** Stops the worker of a job that was open, and wakes those who wait for its end. */
      const announceCancelled = Effect.fnUntraced(function* ({ created_at, id, mode }: JobState) {
        yield* signals.publish(stopped(id))
        yield* signals.publish(ended(id))
        const now = yield* Clock.currentTimeMillis
        yield* sql.afterCommit(jobEnded(mode, "cancelled", Duration.millis(now - created_at.epochMilliseconds)))
      })

      return Jobs.of({
        enqueue: yield* makeEnqueue(reads),
        get: (tenant, id) => spanned("Jobs.get")(unavailableUnlimited(read(tenant, id))),

        summary: Effect.fn("Jobs.summary")(makeSummary(sql, ledger), unavailable),

        ...makeListing(reads),

        ...(yield* makeFollowing(reads)),

        ...(yield* makeAnswering(reads)),

        cancel: Effect.fn("Jobs.cancel")(function* (tenant, id) {
          const job = yield* state(tenant, id)
          const wasOpen = yield* endCancelled(job.id)
          if (wasOpen) {
            yield* announceCancelled(job)
            yield* note(tenant)
          }
          return { job: yield* read(tenant, id), wasOpen }
        }, unavailable),

        resume: Effect.fn("Jobs.resume")(function* (tenant, id) {
          const { id: job } = yield* state(tenant, id)
          const [{ open } = { open: 0 }] = yield* sql<{ open: number }>`
            SELECT COUNT(*) AS open FROM jobs WHERE tenant = ${tenant} AND ${isOpen(sql)}`
          if (open >= openJobs) return yield* tooManyJobs(openJobs)
          const now = yield* Clock.currentTimeMillis
          const lines = newLines("jobs")
          // Followers have seen the end under the next event id, so no step gets that id.
          const update = sql<Lines>`
              UPDATE jobs SET status = 'queued', lease = NULL, due_at = ${databaseTime(sql)}, attempt = attempt + 1,
                rank = ${makeNextRank(sql)("jobs", sql`${STEP}`)},
                crashes = 0, faults = 0, failing_since = NULL, ran_ms = 0, last_event = last_event + 1,
                key_limit = ${sql.literal(lines.key_limit)}, held_back = ${sql.literal(lines.held_back)},
                problem = NULL, finished_at = NULL, expires_at = ${now + Duration.toMillis(retention)}
              WHERE id = ${job} AND status IN ('failed', 'timed_out') RETURNING ${sql.literal(LINE_COLUMNS)}`
          const [row] = yield* Effect.catchIf(update, isDuplicate, () => new ThreadBusy())
          if (row === undefined) return yield* new JobNotResumable()
          yield* queue.wake
          yield* queue.admit(row)
          yield* note(tenant)
          return yield* read(tenant, id)
        }, unavailable),

        remove: Effect.fn("Jobs.remove")(function* (tenant, id) {
          const job = yield* state(tenant, id)
          const rows = yield* sql<Lines & { finished_at: number | null }>`
              DELETE FROM jobs WHERE id = ${job.id} RETURNING finished_at, ${sql.literal(LINE_COLUMNS)}`
          const [removed] = rows
          if (removed === undefined) return yield* new JobNotFound()
          yield* note(tenant)
          if (removed.finished_at !== null) return
          yield* queue.admit(removed)
          yield* announceCancelled(job)
        }, unavailable),

        queueState: queueStateOf(sql),
      })
    }),
  ).pipe(Layer.provide(SecureRandom.layerWebCrypto))
}

/** Returns a function that tells followers that something of the tenant changed, once the transaction commits. */
const makeNote = Effect.zipWith(
  SqlClient.SqlClient,
  TenantChanges,
  (sql, { note }) =>
    (tenant: TenantId) =>
      sql.afterCommit(note(tenant)),
)

const makeListing = ({ count, list, receipts }: JobReads) => ({
  list: Effect.fn("Jobs.list")(list, unavailable),
  count: Effect.fn("Jobs.count")(count, unavailable),
  receipts: Effect.fn("Jobs.receipts")(receipts, unavailable),
})

const makeAnswering = Effect.fnUntraced(function* ({ read, state }: JobReads) {
  const { earlier } = makeKeyRecords(yield* SqlClient.SqlClient)
  const { input } = yield* makePersonAnswers
  return {
    input: Effect.fnUntraced(function* (tenant: TenantId, id: string, given: JobInput, named?: NamedAnswer) {
      const { id: job } = yield* unavailable(state(tenant, id))
      yield* input(tenant, job, given, named && answerRequest(tenant, job, named))
      return yield* unavailable(read(tenant, id))
    }),

    took: (tenant: TenantId, id: JobId, named: NamedAnswer) =>
      unavailable(Effect.map(earlier(answerRequest(tenant, id, named)), (job) => job !== undefined)),
  }
})

/** Returns a function that ends an open job, and returns `false` if it had already ended. */
const makeEndCancelled = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const queue = yield* JobQueue
  const { retention } = yield* JobSettings
  const outbox = makeOutbox(sql)
  return Effect.fnUntraced(function* (job: JobId) {
    const now = yield* Clock.currentTimeMillis
    const [row] = yield* sql<Lines>`
      UPDATE jobs SET status = 'cancelled', lease = NULL, question = NULL, input_due_at = NULL, finished_at = ${now},
        expires_at = ${now + Duration.toMillis(retention)}
      WHERE id = ${job} AND finished_at IS NULL RETURNING ${sql.literal(LINE_COLUMNS)}`
    if (row === undefined) return false
    yield* outbox("job.ended", [job], now)
    yield* queue.admit(row)
    return true
  }, sql.withTransaction)
})

const queueStateOf = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    // A job that waits for a retry, a place or a budget does not show that there are too few workers.
    const rows = yield* sql<{ status: JobStatus; jobs: number; oldest: number | null }>`
            SELECT status, COUNT(*) AS jobs, MIN(
                CASE WHEN failing_since IS NULL AND held_back = 0 AND due_at <= ${databaseTime(sql)} THEN created_at END) AS oldest
            FROM jobs WHERE finished_at IS NULL GROUP BY status`
    const now = yield* Clock.currentTimeMillis
    const queued = rows.find((row) => row.status === "queued")
    const running = rows.find((row) => row.status === "running")
    return {
      queued: queued?.jobs ?? 0,
      running: running?.jobs ?? 0,
      oldestQueuedMs: Math.max(0, now - (queued?.oldest ?? now)),
    }
  }).pipe(unavailable)
