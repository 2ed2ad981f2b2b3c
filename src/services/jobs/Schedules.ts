/** The schedules of every tenant. A call sees only those of its tenant. */
import { Cause, Clock, Context, DateTime, Duration, Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { AgentId, type AgentNotFound, TenantId } from "../../domain/jobs/agent.ts"
import { ExecuteRequest, IdempotencyKey, JobId } from "../../domain/jobs/job.ts"
import {
  MAX_SCHEDULES,
  type NewSchedule,
  nextTime,
  type Schedule,
  ScheduleId,
  ScheduleNotFound,
  TooManySchedules,
} from "../../domain/jobs/schedule.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import { Problem } from "../../domain/problems/problem.ts"
import { Agents } from "../agents/Agents.ts"
import { databaseTime } from "../databaseTime.ts"
import { decodeRows, storedJson, unavailable } from "../storedRows.ts"
import { logFault } from "./attemptFailures.ts"
import { Jobs } from "./Jobs.ts"

const Row = Schema.Struct({
  id: ScheduleId,
  tenant: TenantId,
  agent_id: AgentId,
  cron: Schema.String,
  time_zone: Schema.NullOr(Schema.String),
  request: Schema.fromJsonString(ExecuteRequest),
  next_at: Schema.Int,
  last_job_id: Schema.NullOr(JobId),
  last_problem: Schema.NullOr(storedJson(Problem)),
  created_at: Schema.DateTimeUtcFromMillis,
})
type Row = typeof Row.Type
const decode = decodeRows("schedules", Row)
const COLUMNS = Object.keys(Row.fields).join(", ")
const encodeRequest = Schema.encodeEffect(Schema.fromJsonString(ExecuteRequest))

/** The maximum number of schedules that one process looks at in one go. */
const BATCH = 50
const POSTPONED = Duration.hours(1)

export class Schedules extends Context.Service<
  Schedules,
  {
    readonly create: (
      tenant: TenantId,
      plan: NewSchedule,
    ) => Effect.Effect<Schedule, AgentNotFound | TooManySchedules | StorageUnavailable>
    readonly get: (tenant: TenantId, id: string) => Effect.Effect<Schedule, ScheduleNotFound | StorageUnavailable>
    /** All, the newest first. */
    readonly list: (tenant: TenantId) => Effect.Effect<ReadonlyArray<Schedule>, StorageUnavailable>
    /** Its jobs stay. */
    readonly remove: (tenant: TenantId, id: string) => Effect.Effect<void, ScheduleNotFound | StorageUnavailable>
    /** Enqueues a job for each schedule that is due. Any process may do so at any time: a time gives one job. */
    readonly enqueueDue: Effect.Effect<void, StorageUnavailable>
  }
>()("sealgate/services/jobs/Schedules") {
  static readonly layer = Layer.effect(
    Schedules,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom
      const agents = yield* Agents
      const jobs = yield* Jobs
      const columns = sql.literal(COLUMNS)

      /** Enqueues the job of the time that has come. After a stop of hours, missed times give one job together. */
      const enqueue = Effect.fn("Schedules.enqueue")(function* (row: Row) {
        const key = IdempotencyKey.make(`schedule:${row.id}:${row.next_at}`)
        const outcome = yield* Effect.result(jobs.enqueue(row.tenant, row.agent_id, row.request, key))
        if (outcome._tag === "Failure") {
          const { failure } = outcome
          if (failure._tag === "StorageUnavailable") return yield* failure
          // Another process is about to enqueue it.
          if (failure._tag === "IdempotencyInFlight") return
        }
        const next = nextTime(planOf(row), Math.max(row.next_at, yield* Clock.currentTimeMillis))
        const job = outcome._tag === "Success" ? outcome.success.id : row.last_job_id
        const problem = outcome._tag === "Failure" ? JSON.stringify(outcome.failure.problem) : null
        yield* unavailable(sql`UPDATE schedules SET next_at = ${next ?? NEVER}, last_job_id = ${job}, last_problem = ${problem}
          WHERE id = ${row.id} AND next_at = ${row.next_at}`)
      })

      /** A schedule that cannot be read, or whose job cannot be made, must not keep the others from theirs. */
      const postpone = (id: string) =>
        unavailable(sql`UPDATE schedules SET next_at = next_at + ${Duration.toMillis(POSTPONED)} WHERE id = ${id}`)

      return Schedules.of({
        create: Effect.fn("Schedules.create")(function* (tenant, plan) {
          const { id: agent_id } = yield* agents.get(tenant, plan.agent_id)
          const now = yield* Clock.currentTimeMillis
          const id = ScheduleId.make(yield* random.uuidV7())
          const next = nextTime(plan, now) ?? NEVER
          const request = yield* Effect.orDie(encodeRequest(plan.request))
          const row = { id, tenant, agent_id, cron: plan.cron, time_zone: plan.time_zone ?? null, request }
          const [{ schedules = 0 } = {}] = yield* sql<{ schedules: number }>`
            SELECT COUNT(*) AS schedules FROM schedules WHERE tenant = ${tenant}`
          // Concurrent calls may exceed the limit by their number, which harms nothing.
          if (schedules >= MAX_SCHEDULES) return yield* new TooManySchedules()
          yield* sql`INSERT INTO schedules ${sql.insert({ ...row, next_at: next, created_at: now })}`
          return { ...plan, id, next_at: DateTime.makeUnsafe(next), created_at: DateTime.makeUnsafe(now) }
        }, unavailable),

        get: Effect.fn("Schedules.get")(function* (tenant, id) {
          // A database may refuse to compare with text that is no valid id.
          if (!isScheduleId(id)) return yield* new ScheduleNotFound()
          const [row] = yield* decode(
            yield* sql`SELECT ${columns} FROM schedules WHERE id = ${id} AND tenant = ${tenant}`,
          )
          return row === undefined ? yield* new ScheduleNotFound() : toSchedule(row)
        }, unavailable),

        list: Effect.fn("Schedules.list")(function* (tenant) {
          const rows = yield* sql`SELECT ${columns} FROM schedules WHERE tenant = ${tenant} ORDER BY id DESC`
          return (yield* decode(rows)).map(toSchedule)
        }, unavailable),

        remove: Effect.fn("Schedules.remove")(function* (tenant, id) {
          if (!isScheduleId(id)) return yield* new ScheduleNotFound()
          const rows = yield* sql`DELETE FROM schedules WHERE id = ${id} AND tenant = ${tenant} RETURNING id`
          if (rows.length === 0) return yield* new ScheduleNotFound()
        }, unavailable),

        enqueueDue: Effect.gen(function* () {
          const due = yield* unavailable(sql<{ id: string }>`SELECT ${columns} FROM schedules
            WHERE next_at <= (SELECT ${databaseTime(sql)}) ORDER BY next_at LIMIT ${BATCH}`)
          yield* Effect.forEach(
            due,
            (row) =>
              Effect.flatMap(decode([row]), (rows) => Effect.forEach(rows, enqueue, { discard: true })).pipe(
                Effect.catchCauseIf(Cause.hasDies, (cause) => Effect.andThen(logFault(cause), postpone(row.id))),
              ),
            { discard: true },
          )
        }),
      })
    }),
  ).pipe(Layer.provide(SecureRandom.layerWebCrypto))
}

/** Beyond all times that occur: the year 9999. */
const NEVER = 253_402_300_799_000

const isScheduleId = Schema.is(ScheduleId)

const planOf = ({ cron, time_zone }: Row) => ({ cron, ...(time_zone === null ? {} : { time_zone }) })

const toSchedule = (row: Row): Schedule => ({
  id: row.id,
  agent_id: row.agent_id,
  ...planOf(row),
  request: row.request,
  next_at: DateTime.makeUnsafe(row.next_at),
  ...(row.last_job_id === null ? {} : { last_job_id: row.last_job_id }),
  ...(row.last_problem === null ? {} : { last_problem: row.last_problem }),
  created_at: row.created_at,
})
