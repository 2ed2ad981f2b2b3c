/** Jobs as their owners use them: enqueue, look, wait, follow, cancel. Each call sees only its own tenant's. */
import {
  Array,
  Clock,
  Context,
  Data,
  DateTime,
  Duration,
  Effect,
  Exit,
  Layer,
  Option,
  Schema,
  Stream,
  type Tracer,
} from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient, type SqlError } from "effect/sql"
import { AgentId, AgentNotFound, type TenantId } from "../../domain/jobs/agent.ts"
import {
  ExecuteRequest,
  type IdempotencyInFlight,
  type IdempotencyKey,
  type IdempotencyMismatch,
  isEnded,
  type Job,
  type JobEvent,
  JobId,
  type JobNotFound,
  type JobReceipt,
  type JobStatus,
  taskOf,
} from "../../domain/jobs/job.ts"
import type { CursorInvalid, Page, PageRequest, StorageUnavailable } from "../../domain/operations/storage.ts"
import { storeTrace } from "../../domain/operations/traceContext.ts"
import { Agents } from "../agents/Agents.ts"
import { Ledger } from "../routing/Ledger.ts"
import { encodeAgent } from "../agents/storedAgents.ts"
import { makeBatched } from "../batched.ts"
import { givenRows, inTime, unavailable, unavailableUnlimited } from "../storedRows.ts"
import { spanned } from "../spans.ts"
import { makeAlarms } from "../upstream/Alarms.ts"
import { databaseTime } from "./databaseTime.ts"
import { makeIdempotency } from "./Idempotency.ts"
import { jobEnded, jobEnqueued, type QueueState } from "./JobMetrics.ts"
import { jobMessage } from "./jobMessage.ts"
import { JobQueue } from "./JobQueue.ts"
import { type JobFilter, makeJobReads } from "./JobReads.ts"
import { NEW_JOB_COLUMNS, type NewJob, newJobColumns, type StepRow, toNewJob, toStep } from "./JobRows.ts"
import { JobSettings } from "./JobSettings.ts"
import { changed, ended, JobSignals, stopped } from "./JobSignals.ts"
import { StepsBegun } from "./StepsBegun.ts"
import { CostBound } from "./CostBound.ts"

const isAgentId = Schema.is(AgentId)

export class Jobs extends Context.Service<
  Jobs,
  {
    /**
     * Makes a job of the request. When it returns, the job is on disk: the job, its place in the queue and the record
     * of its idempotency key are one transaction.
     */
    readonly enqueue: (
      tenant: TenantId,
      agentId: string,
      request: ExecuteRequest,
      key?: IdempotencyKey,
    ) => Effect.Effect<Job, AgentNotFound | IdempotencyMismatch | IdempotencyInFlight | StorageUnavailable>
    readonly get: (tenant: TenantId, id: string) => Effect.Effect<Job, JobNotFound | StorageUnavailable>
    /** Newest first. */
    readonly list: (
      tenant: TenantId,
      filter?: JobFilter,
      page?: PageRequest,
    ) => Effect.Effect<Page<Job>, CursorInvalid | StorageUnavailable>
    /**
     * The job once it has ended, or as it is when `patience` runs out, or what `onEnough` was given is called before. That
     * returns how to take it back.
     */
    readonly wait: (
      tenant: TenantId,
      id: string,
      patience: Duration.Input,
      onEnough?: (call: () => void) => () => void,
    ) => Effect.Effect<Job, JobNotFound | StorageUnavailable>
    /** Every step with an id above `after` (all by default) as it finishes, then the ended job, then the end. */
    readonly events: (
      tenant: TenantId,
      id: string,
      after?: number,
    ) => Stream.Stream<JobEvent, JobNotFound | StorageUnavailable>
    /** What sealed proxies signed of its steps; empty where it asked no sealed proxy. */
    readonly receipts: (
      tenant: TenantId,
      id: string,
    ) => Effect.Effect<ReadonlyArray<JobReceipt>, JobNotFound | StorageUnavailable>
    /** Ends the job and interrupts its worker, wherever that runs. A job that has ended stays as it is. */
    readonly cancel: (tenant: TenantId, id: string) => Effect.Effect<Job, JobNotFound | StorageUnavailable>
    /** All tenants' open jobs, for readiness and metrics. */
    readonly queueState: Effect.Effect<QueueState, StorageUnavailable>
  }
>()("sealgate/services/jobs/Jobs") {
  static readonly layer = Layer.effect(
    Jobs,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const agents = yield* Agents
      const queue = yield* JobQueue
      const signals = yield* JobSignals
      const begunSteps = yield* StepsBegun
      const random = yield* SecureRandom.SecureRandom
      const { retention } = yield* JobSettings
      const costBound = yield* CostBound
      const once = makeIdempotency(sql)
      const alarms = yield* makeAlarms
      const now = databaseTime(sql)
      const { list, read, receipts, state, steps } = yield* makeJobReads(sql, yield* Ledger)

      const prepare = Effect.fnUntraced(function* (
        tenant: TenantId,
        agentId: string,
        request: ExecuteRequest,
        span: Tracer.Span,
      ) {
        const agent = yield* agents.get(tenant, agentId)
        const created_at = DateTime.makeUnsafe(yield* Clock.currentTimeMillis)
        const mode = request.mode ?? agent.default_mode
        const [task, options] = [taskOf(request), request.options ?? {}]
        const job: NewJob = {
          id: JobId.make(yield* random.uuidV7()),
          tenant,
          agent_id: agent.id,
          agent_version: agent.version,
          mode,
          task,
          options,
          metadata: request.metadata ?? {},
          at_most: yield* costBound({ agent, mode, options, task }),
          traceparent: storeTrace(span),
          created_at,
          expires_at: DateTime.addDuration(created_at, retention),
        }
        return { job, columns: { ...newJobColumns(job), agent: yield* encodeAgent(agent) }, span }
      })

      const newJobs = givenRows(sql, NEW_JOB_COLUMNS)
      const names = sql.literal(Object.keys(NEW_JOB_COLUMNS).join(", "))
      type NewRow = Parameters<typeof newJobs>[0][number]
      const insertAll = (rows: ReadonlyArray<NewRow>) =>
        sql`INSERT INTO jobs (${names}, due_at) SELECT ${names}, ${now} FROM ${newJobs(rows)}`
      const insertTogether = yield* makeBatched<NewRow, true>({
        most: MOST,
        run: (rows) =>
          Effect.as(
            insertAll(rows),
            Array.map(rows, () => true as const),
          ),
      })

      const create = Effect.fnUntraced(function* (
        { columns, job, span }: Effect.Success<ReturnType<typeof prepare>>,
        insert: (row: NewRow) => Effect.Effect<unknown, SqlError.SqlError | StorageUnavailable>,
      ) {
        yield* insert(columns)
        yield* queue.wake
        const sent = {
          ...jobMessage(job.id),
          "messaging.operation.name": "enqueue",
          "messaging.operation.type": "send",
        }
        for (const [key, value] of Object.entries(sent)) span.attribute(key, value)
        yield* sql.afterCommit(jobEnqueued(job.mode))
        return toNewJob(job)
      })

      return Jobs.of({
        enqueue: Effect.fn("Jobs.enqueue", { kind: "producer" })(function* (tenant, agentId, request, key) {
          // What is no id names no agent, and may be what a database refuses to store.
          if (!isAgentId(agentId)) return yield* new AgentNotFound()
          // Not that of the transaction, which is over when the job begins.
          const span = yield* Effect.orDie(Effect.currentSpan)
          const prepared = prepare(tenant, agentId, request, span)
          if (key === undefined) return yield* create(yield* prepared, insertTogether)
          const body = yield* encodeRequest(request)
          const done = yield* inTime(
            once({ tenant, route: `agents/${agentId}/execute`, key, body }, prepared, (ready) =>
              create(ready, (row) => insertAll([row])),
            ),
          )
          return typeof done === "string" ? yield* Effect.catchTag(read(tenant, done), "JobNotFound", Effect.die) : done
        }, unavailableUnlimited),

        get: (tenant, id) => spanned("Jobs.get")(unavailableUnlimited(read(tenant, id))),

        list: Effect.fn("Jobs.list")(list, unavailable),

        receipts: Effect.fn("Jobs.receipts")(receipts, unavailable),

        wait: Effect.fnUntraced(
          function* (tenant, id, patience, onEnough = () => () => undefined) {
            const subscription = yield* signals.subscribe(`ended:${id}`)
            const { status } = yield* state(tenant, id)
            if (isEnded(status)) return yield* read(tenant, id)
            const untilEnded = Effect.gen(function* () {
              for (;;) {
                yield* subscription.next
                const job = yield* read(tenant, id)
                if (isEnded(job.status)) return job
              }
            })
            const until = alarms.now() + Duration.toMillis(Duration.fromInputUnsafe(patience))
            let isEnough = false
            let takeBack: () => void = () => undefined
            const waited = alarms.watched(
              untilEnded,
              (moment) => (isEnough || moment >= until ? ENOUGH : until),
              (lookNow) => {
                takeBack = onEnough(() => {
                  isEnough = true
                  lookNow()
                })
              },
            )
            const ended = yield* Effect.ensuring(
              Effect.catchTag(waited, "Enough", () => Effect.undefined),
              Effect.sync(() => takeBack()),
            )
            return ended ?? (yield* read(tenant, id))
          },
          Effect.scoped,
          unavailableUnlimited,
          spanned("Jobs.wait"),
        ),

        events: (tenant, id, after = 0) =>
          Effect.gen(function* () {
            const { id: job } = yield* state(tenant, id)
            const subscription = yield* signals.subscribe(changed(job), ended(job))
            const look = Effect.fnUntraced(function* (after: number) {
              // In this order: once a job has ended, no step is added, so what is read then is all there is.
              const { last_event, status } = yield* state(tenant, id)
              const events: ReadonlyArray<StoredEvent> = (yield* steps([id], after)).map(stepEvent)
              if (!isEnded(status)) return { events, ended: false }
              const end = last_event + 1
              if (after >= end) return { events, ended: true }
              const last: StoredEvent = { _tag: "Ended", id: end, job: yield* read(tenant, id) }
              return { events: [...events, last], ended: true }
            }, unavailable)
            const next = Effect.fnUntraced(function* (after: number) {
              const { ended, events } = yield* look(after)
              if (ended) return [events, Option.none<number>()] as const
              if (events.length === 0) yield* subscription.next
              return [events, Option.some(events.at(-1)?.id ?? after)] as const
            })
            const begun = Stream.map(begunSteps.follow(job), (step): JobEvent => ({ _tag: "Begun", step }))
            return Stream.merge(Stream.paginate(after, next), begun, { haltStrategy: "left" })
          }).pipe(unavailable, Stream.unwrap),

        cancel: Effect.fn("Jobs.cancel")(function* (tenant, id) {
          const { created_at, id: job, mode } = yield* state(tenant, id)
          const now = yield* Clock.currentTimeMillis
          const rows = yield* sql`
              UPDATE jobs SET status = 'cancelled', lease = NULL, finished_at = ${now},
                expires_at = ${now + Duration.toMillis(retention)}
              WHERE id = ${job} AND finished_at IS NULL RETURNING id`
          if (rows.length > 0) {
            yield* signals.publish(stopped(job))
            yield* signals.publish(ended(job))
            yield* jobEnded(mode, "cancelled", Duration.millis(now - created_at.epochMilliseconds))
          }
          return yield* read(tenant, id)
        }, unavailable),

        queueState: Effect.gen(function* () {
          // A job that waits for its next attempt says nothing about whether there are workers enough.
          const rows = yield* sql<{ status: JobStatus; jobs: number; oldest: number | null }>`
            SELECT status, COUNT(*) AS jobs, MIN(CASE WHEN failing_since IS NULL THEN created_at END) AS oldest
            FROM jobs WHERE finished_at IS NULL GROUP BY status`
          const now = yield* Clock.currentTimeMillis
          const queued = rows.find((row) => row.status === "queued")
          const running = rows.find((row) => row.status === "running")
          return {
            queued: queued?.jobs ?? 0,
            running: running?.jobs ?? 0,
            oldestQueuedMs: Math.max(0, now - (queued?.oldest ?? now)),
          }
        }).pipe(unavailable),
      })
    }),
  ).pipe(Layer.provide(SecureRandom.layerWebCrypto))
}

/** Who waits for a job has waited for long enough. */
class Enough extends Data.TaggedError("Enough") {}
const ENOUGH = Exit.fail(new Enough())

/** Jobs that are written together at most. */
const MOST = 64

const encodeRequest = (request: ExecuteRequest) => Effect.orDie(Schema.encodeEffect(ExecuteRequest)(request))

/** What is told again to those who come later. */
type StoredEvent = Exclude<JobEvent, { readonly _tag: "Begun" }>

const stepEvent = (row: StepRow): StoredEvent => ({ _tag: "Step", id: row.event, step: toStep(row) })
