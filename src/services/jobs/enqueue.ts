/** Enqueues jobs. Jobs that arrive at the same time are written together. */
import { Clock, DateTime, Effect, Record, Schema, type Tracer } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient, type SqlError } from "effect/sql"
import type { KeyLimits } from "../../domain/access/identity.ts"
import { AgentId, AgentNotFound, type TenantId } from "../../domain/jobs/agent.ts"
import {
  ExecuteRequest,
  IdempotencyInFlight,
  type IdempotencyKey,
  JobId,
  type JobStatus,
  OutputSchemaRefused,
  taskOf,
  TooManyJobs,
} from "../../domain/jobs/job.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import { ThreadBusy, ThreadNotFound } from "../../domain/jobs/thread.ts"
import { storeTrace } from "../../domain/operations/traceContext.ts"
import { TenantQuotas } from "../access/TenantQuotas.ts"
import { Agents } from "../agents/Agents.ts"
import { encodeAgent } from "../agents/storedAgents.ts"
import { makeBatched } from "../batched.ts"
import { type Columns, givenItems, inTime, unavailableUnlimited } from "../storedRows.ts"
import { TenantChanges } from "../TenantChanges.ts"
import { HELD_BY, newLines, storedKey } from "./concurrency.ts"
import { CostBound } from "./CostBound.ts"
import { databaseTime } from "../databaseTime.ts"
import { executionKey, makeIdempotency, type ScheduledTime } from "./Idempotency.ts"
import { jobEnqueued } from "./JobMetrics.ts"
import { jobMessage } from "./jobMessage.ts"
import { JobQueue } from "./JobQueue.ts"
import type { JobReads } from "./JobReads.ts"
import { NEW_JOB_COLUMNS, type NewJob, toNewJob } from "./JobRows.ts"
import { JobSettings } from "./JobSettings.ts"
import { effortOf } from "./modes/engine/effortOf.ts"
import { makeCheckMode } from "./modes/own/OwnModes.ts"
import { makeNextRank, STEP } from "./ranks.ts"
import { makeWithHistory } from "./threadHistory.ts"

export const makeEnqueue = Effect.fnUntraced(function* ({ read }: JobReads) {
  const sql = yield* SqlClient.SqlClient
  const queue = yield* JobQueue
  const { note } = yield* TenantChanges
  const prepare = yield* makePrepare
  const once = makeIdempotency(sql)

  const { openJobs } = yield* TenantQuotas
  const insertAll = makeInsertAll(sql, openJobs)
  const insertTogether = yield* makeBatched<RankedJob, boolean>({ run: insertAll })

  const create = Effect.fnUntraced(function* (
    { job, span }: Effect.Success<ReturnType<typeof prepare>>,
    insert: (job: RankedJob) => Effect.Effect<boolean, SqlError.SqlError | StorageUnavailable>,
  ) {
    if (!(yield* insert(job))) {
      if (job.thread !== null) {
        if (!(yield* hasThread(sql, job, job.thread))) return yield* new ThreadNotFound()
        if (yield* isBusy(sql, job.thread)) return yield* new ThreadBusy()
      }
      return yield* tooManyJobs(openJobs)
    }
    yield* queue.wake
    yield* queue.admit({
      concurrency_key: job.concurrency_key,
      key_id: job.key?.id ?? null,
      key_limit: job.key?.maxRunningJobs ?? null,
    })
    const sent = {
      ...jobMessage(job.id),
      "messaging.operation.name": "enqueue",
      "messaging.operation.type": "send",
    }
    for (const [key, value] of Object.entries(sent)) span.attribute(key, value)
    yield* sql.afterCommit(Effect.andThen(jobEnqueued(job.mode), note(job.tenant)))
    return toNewJob(job)
  })

  return Effect.fn("Jobs.enqueue", { kind: "producer" })(function* (
    tenant: TenantId,
    agentId: string,
    request: ExecuteRequest,
    key?: IdempotencyKey | ScheduledTime,
    by?: KeyLimits,
  ) {
    // A database may refuse to store text that is no valid id.
    if (!isAgentId(agentId)) return yield* new AgentNotFound()
    // The parent span of the job. The current span inside the transaction would end before the job begins.
    const span = yield* Effect.orDie(Effect.currentSpan)
    const prepared = prepare({ tenant, agentId, request, span, by })
    const job =
      key === undefined
        ? yield* create(yield* prepared, insertTogether)
        : yield* inTime(
            once({ tenant, ...executionKey(agentId, key), body: yield* encodeRequest(request) }, prepared, (ready) =>
              create(ready, (row) => Effect.map(insertAll([row]), ([inserted]) => inserted === true)),
            ),
          )
    if ("replayed" in job)
      return yield* Effect.catchTag(read(tenant, job.replayed), "JobNotFound", () => new IdempotencyInFlight())
    // Only after the commit is it known whether the job waits for a place.
    return job.waiting?.reason === "worker" ? job : yield* Effect.orElseSucceed(read(tenant, job.id), () => job)
  }, unavailableUnlimited)
})

/** SQL: whether a job has not ended, in a form that the index of open jobs serves. */
export const isOpen = (sql: SqlClient.SqlClient) =>
  sql`status IN ${sql.in(OPEN)} AND held_back IN (0, 1, 2) AND finished_at IS NULL`

export const tooManyJobs = (openJobs: number) =>
  new TooManyJobs({ detail: `At most ${openJobs} jobs of one tenant may be open.` })

/**
 * Returns a function that inserts those jobs that fit their tenants' quotas and whose threads exist and have no other open
 * job, and returns for each whether it was inserted. On Postgres, a quota may be exceeded by jobs that other gateways insert
 * at the same moment.
 */
const makeInsertAll = (sql: SqlClient.SqlClient, openJobs: number) => {
  const newJobs = givenItems(sql, RANKED_COLUMNS)
  const nextRank = makeNextRank(sql)
  const names = sql.literal(Object.keys(NEW_JOB_COLUMNS).join(", "))
  const lines = newLines("numbered")
  const values = sql.literal(Object.values({ ...Record.map(NEW_JOB_COLUMNS, (_, name) => name), ...lines }).join(", "))
  // A deletion of the thread waits for the new job, and then finds it.
  const locked = sql.onDialectOrElse({ pg: () => sql`FOR KEY SHARE`, orElse: () => sql`` })
  return (jobs: ReadonlyArray<RankedJob>) =>
    Effect.map(
      sql<{
        id: string
      }>`INSERT INTO jobs (${names}, rank, due_at, status, attempt, crashes, faults, ran_ms, last_event)
        SELECT ${values}, ${nextRank("numbered", sql`step`)} + step * (turn - 1), ${databaseTime(sql)}, 'queued', 1, 0, 0, 0, 0
        FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY tenant ORDER BY id) AS place,
          ROW_NUMBER() OVER (PARTITION BY tenant, priority, key_id ORDER BY id) AS turn
          FROM ${newJobs(jobs)}) AS numbered
        LEFT JOIN (SELECT tenant AS owner, COUNT(*) AS jobs FROM jobs
          WHERE ${isOpen(sql)} AND tenant IN ${sql.in(tenantsOf(jobs))}
          GROUP BY tenant) AS open ON open.owner = numbered.tenant
        WHERE place <= ${openJobs} - COALESCE(open.jobs, 0)
          AND (thread IS NULL OR EXISTS (SELECT 1 FROM threads WHERE id = thread ${locked}))
        ON CONFLICT DO NOTHING RETURNING id`,
      (inserted) => {
        const ids = new Set(inserted.map(({ id }) => id))
        return jobs.map(({ id }) => ids.has(id))
      },
    )
}

/** A new job, and the distance of its rank from that of the job before it. */
interface RankedJob extends NewJob {
  readonly step: number
}
const RANKED_COLUMNS: Columns<RankedJob> = { ...NEW_JOB_COLUMNS, step: ["BIGINT", ({ step }) => step] }

const hasThread = (
  sql: SqlClient.SqlClient,
  { agent_id, tenant }: Pick<NewJob, "agent_id" | "tenant">,
  thread: string,
) =>
  Effect.map(
    sql`SELECT 1 FROM threads WHERE id = ${thread} AND tenant = ${tenant} AND agent_id = ${agent_id}`,
    (rows) => rows.length > 0,
  )

const isBusy = (sql: SqlClient.SqlClient, thread: string) =>
  Effect.map(sql`SELECT 1 FROM jobs WHERE thread = ${thread} AND finished_at IS NULL`, (rows) => rows.length > 0)

const OPEN: ReadonlyArray<JobStatus> = ["queued", "running", "input_required"]

const tenantsOf = (jobs: ReadonlyArray<NewJob>) => [...new Set(jobs.map(({ tenant }) => tenant))]

interface NewExecution {
  readonly tenant: TenantId
  readonly agentId: string
  readonly request: ExecuteRequest
  readonly span: Tracer.Span
  readonly by: KeyLimits | undefined
}

/** Returns a function that turns a request into a new row. */
const makePrepare = Effect.gen(function* () {
  const agents = yield* Agents
  const random = yield* SecureRandom.SecureRandom
  const { retention } = yield* JobSettings
  const costBound = yield* CostBound
  const sql = yield* SqlClient.SqlClient
  const withHistory = makeWithHistory(sql)
  const checkMode = yield* makeCheckMode

  return Effect.fnUntraced(function* ({ agentId, by, request, span, tenant }: NewExecution) {
    const agent = yield* agents.get(tenant, agentId)
    const created_at = DateTime.makeUnsafe(yield* Clock.currentTimeMillis)
    const mode = request.mode ?? agent.default_mode
    yield* checkMode(mode)
    const [task, options] = [taskOf(request), request.options ?? {}]
    if (options.output_schema !== undefined && mode !== "direct") return yield* new OutputSchemaRefused()
    const thread = request.thread_id ?? null
    if (thread !== null && !(yield* hasThread(sql, { tenant, agent_id: agent.id }, thread))) {
      return yield* new ThreadNotFound()
    }
    const id = JobId.make(yield* random.uuidV7())
    const whole = thread === null ? task : yield* withHistory(thread, { id, task })
    const job: RankedJob = {
      id,
      tenant,
      agent: yield* encodeAgent(agent),
      agent_id: agent.id,
      agent_version: agent.version,
      thread,
      mode,
      effort: options.rounds === undefined && options.samples === undefined ? effortOf({ agent, options }) : null,
      priority: request.priority ?? "normal",
      task,
      options,
      metadata: request.metadata ?? {},
      at_most: yield* costBound({ agent, mode, options, task: whole }),
      traceparent: storeTrace(span),
      created_at,
      expires_at: DateTime.addDuration(created_at, retention),
      concurrency_key: request.concurrency === undefined ? null : storedKey(tenant, request.concurrency.key),
      concurrency_limit: request.concurrency === undefined ? null : (request.concurrency.limit ?? 1),
      held_back: firstLine(request, by),
      key: by,
      webhook: request.webhook_url ?? agent.webhook_url,
      step: Math.floor(STEP / (by?.weight ?? 1)),
    }
    return { job, span }
  })
})

const firstLine = ({ concurrency }: ExecuteRequest, by: KeyLimits | undefined) => {
  if (concurrency !== undefined) return HELD_BY.concurrencyKey
  return by?.maxRunningJobs === undefined ? HELD_BY.nothing : HELD_BY.callerKey
}

const isAgentId = Schema.is(AgentId)

const encodeRequest = (request: ExecuteRequest) => Effect.orDie(Schema.encodeEffect(ExecuteRequest)(request))
