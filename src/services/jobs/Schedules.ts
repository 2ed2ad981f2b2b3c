/** The schedules of every tenant. A call sees only those of its tenant. */
import { Clock, Context, DateTime, Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { KeyLimits } from "../../domain/access/identity.ts"
import type { KeyId } from "../../domain/access/keys.ts"
import type { AgentNotFound, TenantId } from "../../domain/jobs/agent.ts"
import { ExecuteRequest } from "../../domain/jobs/job.ts"
import {
  MAX_SCHEDULES,
  type NewSchedule,
  type Schedule,
  ScheduleId,
  ScheduleNotFound,
  TooManySchedules,
} from "../../domain/jobs/schedule.ts"
import type { CursorInvalid, Page, PageRequest, StorageUnavailable } from "../../domain/operations/storage.ts"
import { Agents } from "../agents/Agents.ts"
import { makeReadPage } from "../readPage.ts"
import { permitted, unavailable } from "../storedRows.ts"
import { decodeSchedules, nextAt, planOf, SCHEDULE_COLUMNS, type ScheduleRow } from "./scheduleRows.ts"

const encodeRequest = Schema.encodeEffect(Schema.fromJsonString(ExecuteRequest))

export class Schedules extends Context.Service<
  Schedules,
  {
    /** `key` is that of the caller, whose limits bind the jobs. */
    readonly create: (
      tenant: TenantId,
      plan: NewSchedule,
      key?: KeyId,
    ) => Effect.Effect<Schedule, AgentNotFound | TooManySchedules | StorageUnavailable>
    readonly get: (tenant: TenantId, id: string) => Effect.Effect<Schedule, ScheduleNotFound | StorageUnavailable>
    /** Lists those of these agents (default: all), newest first. */
    readonly list: (
      tenant: TenantId,
      page?: PageRequest,
      agents?: KeyLimits["agents"],
    ) => Effect.Effect<Page<Schedule>, CursorInvalid | StorageUnavailable>
    /** The schedule's jobs stay. */
    readonly remove: (tenant: TenantId, id: string) => Effect.Effect<void, ScheduleNotFound | StorageUnavailable>
  }
>()("sealgate/services/jobs/Schedules") {
  static readonly layer = Layer.effect(
    Schedules,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom
      const agents = yield* Agents
      const columns = sql.literal(SCHEDULE_COLUMNS)
      const listed = { table: "schedules", columns: SCHEDULE_COLUMNS, bytes: "octet_length(request)" }
      const readPage = makeReadPage(sql, listed)

      return Schedules.of({
        create: Effect.fn("Schedules.create")(function* (tenant, plan, key) {
          const { id: agent_id } = yield* agents.get(tenant, plan.agent_id)
          const now = yield* Clock.currentTimeMillis
          const id = yield* random.uuidV7()
          const next = nextAt(plan, now)
          const request = yield* Effect.orDie(encodeRequest(plan.request))
          const { cron, time_zone = null } = plan
          const row = { id, tenant, agent_id, key_id: key ?? null, cron, time_zone, request }
          const [{ schedules = 0 } = {}] = yield* sql<{ schedules: number }>`
            SELECT COUNT(*) AS schedules FROM schedules WHERE tenant = ${tenant}`
          // Concurrent calls may exceed the limit by their number, which is harmless.
          if (schedules >= MAX_SCHEDULES) return yield* new TooManySchedules()
          yield* sql`INSERT INTO schedules ${sql.insert({ ...row, next_at: next, created_at: now })}`
          const times = { next_at: DateTime.makeUnsafe(next), created_at: DateTime.makeUnsafe(now) }
          return { ...plan, id, ...(key === undefined ? {} : { key_id: key }), ...times }
        }, unavailable),

        get: Effect.fn("Schedules.get")(function* (tenant, id) {
          // A database may refuse to compare with a malformed id.
          if (!isScheduleId(id)) return yield* new ScheduleNotFound()
          const [row] = yield* decodeSchedules(
            yield* sql`SELECT ${columns} FROM schedules WHERE id = ${id} AND tenant = ${tenant}`,
          )
          return row === undefined ? yield* new ScheduleNotFound() : toSchedule(row)
        }, unavailable),

        list: Effect.fn("Schedules.list")(function* (tenant, page, agents) {
          const wanted = sql`tenant = ${tenant} AND ${permitted(sql, "agent_id", agents)}`
          const { items, ...next } = yield* readPage(wanted, page, decodeSchedules)
          return { ...next, items: items.map(toSchedule) }
        }, unavailable),

        remove: Effect.fn("Schedules.remove")(function* (tenant, id) {
          if (!isScheduleId(id)) return yield* new ScheduleNotFound()
          const rows = yield* sql`DELETE FROM schedules WHERE id = ${id} AND tenant = ${tenant} RETURNING id`
          if (rows.length === 0) return yield* new ScheduleNotFound()
        }, unavailable),
      })
    }),
  ).pipe(Layer.provide(SecureRandom.layerWebCrypto))
}

const isScheduleId = Schema.is(ScheduleId)

const toSchedule = (row: ScheduleRow): Schedule => ({
  id: row.id,
  agent_id: row.agent_id,
  ...planOf(row),
  request: row.request,
  ...(row.key_id === null ? {} : { key_id: row.key_id }),
  next_at: DateTime.makeUnsafe(row.next_at),
  ...(row.last_job_id === null ? {} : { last_job_id: row.last_job_id }),
  ...(row.last_problem === null ? {} : { last_problem: row.last_problem }),
  created_at: row.created_at,
})
