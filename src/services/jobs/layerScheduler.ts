/** Enqueues the jobs of schedules when their time comes. */
import { Clock, Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Refusal } from "../../domain/problems/refusal.ts"
import { GatewayKeys } from "../access/GatewayKeys.ts"
import { whoMayExecute } from "../access/mayExecute.ts"
import { regularly, rowByRow } from "../background.ts"
import { databaseTime } from "../databaseTime.ts"
import { Drain } from "../lifecycle/Drain.ts"
import { unavailable } from "../storedRows.ts"
import type { ScheduledTime } from "./Idempotency.ts"
import { Jobs } from "./Jobs.ts"
import { JobSettings } from "./JobSettings.ts"
import { decodeSchedules, nextAt, planOf, SCHEDULE_COLUMNS, type ScheduleRow } from "./scheduleRows.ts"

class ScheduleKeyRefused extends Refusal<ScheduleKeyRefused>()("ScheduleKeyRefused", {
  code: "schedule-key-refused",
  status: 403,
  title: "The schedule's key is revoked, expired or may not run this any more.",
}) {}

const BATCH = 50
const POSTPONED = Duration.hours(1)

/** Checks regularly until a shutdown begins. A process without workers does not. */
export const layerScheduler = Layer.effectDiscard(
  Effect.gen(function* () {
    const drain = yield* Drain
    const { poll, workers } = yield* JobSettings
    if (workers === 0) return
    yield* Effect.forkScoped(Effect.raceFirst(regularly(yield* makeEnqueueDue, poll), drain.begun))
  }),
)

/**
 * Returns an effect that enqueues a job for each due schedule. Any process may run it: each time of a schedule gives
 * one job.
 */
const makeEnqueueDue = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const enqueue = yield* makeEnqueueNext
  const columns = sql.literal(SCHEDULE_COLUMNS)
  const due = unavailable(sql<{ id: string }>`SELECT ${columns} FROM schedules
    WHERE next_at <= (SELECT ${databaseTime(sql)}) ORDER BY next_at LIMIT ${BATCH}`)
  const postpone = ({ id }: { readonly id: string }) =>
    Effect.as(
      unavailable(
        sql`UPDATE schedules SET next_at = ${databaseTime(sql)} + ${Duration.toMillis(POSTPONED)} WHERE id = ${id}`,
      ),
      [true],
    )

  return Effect.gen(function* () {
    const rows = yield* due
    const enqueueOf = (row: unknown) =>
      Effect.flatMap(decodeSchedules([row]), (decoded) => Effect.forEach(decoded, enqueue))
    const done = yield* rowByRow(rows, enqueueOf, postpone)
    return rows.length === BATCH && done.some((isDone) => isDone)
  }).pipe(Effect.repeat({ while: (hasMore) => hasMore }))
})

/**
 * Returns a function that enqueues the due job of a schedule, or returns `false` if another process does. Several
 * missed times give one job.
 */
const makeEnqueueNext = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const jobs = yield* Jobs
  const keys = yield* GatewayKeys

  /** Checks the job against the key that made the schedule, as it is now. */
  const enqueue = Effect.fnUntraced(function* (
    { agent_id, key_id, request, tenant }: ScheduleRow,
    time: ScheduledTime,
  ) {
    if (key_id === null) return yield* jobs.enqueue(tenant, agent_id, request, time)
    const holder = yield* keys.holder(tenant, key_id).pipe(whoMayExecute(agent_id, request))
    if (holder === undefined) return yield* new ScheduleKeyRefused({ detail: "Make the schedule with another key." })
    return yield* jobs.enqueue(tenant, agent_id, request, time, holder.key)
  })

  return Effect.fn("Schedules.enqueue")(function* (row: ScheduleRow) {
    const outcome = yield* Effect.result(enqueue(row, { scheduleId: row.id, at: row.next_at }))
    if (outcome._tag === "Failure") {
      const { failure } = outcome
      if (failure._tag === "StorageUnavailable") return yield* failure
      if (failure._tag === "IdempotencyInFlight") return false
    }
    const next = nextAt(planOf(row), Math.max(row.next_at, yield* Clock.currentTimeMillis))
    const job = outcome._tag === "Success" ? outcome.success.id : row.last_job_id
    const problem = outcome._tag === "Failure" ? JSON.stringify(outcome.failure.problem) : null
    yield* unavailable(sql`UPDATE schedules SET next_at = ${next}, last_job_id = ${job}, last_problem = ${problem}
      WHERE id = ${row.id} AND next_at = ${row.next_at}`)
    return true
  })
})
