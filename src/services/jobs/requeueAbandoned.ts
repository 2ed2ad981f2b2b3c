/** Puts back the jobs of workers that died. */
import { Clock, Duration, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { JobId } from "../../domain/jobs/job.ts"
import type { Mode } from "../../domain/jobs/modes.ts"
import { storedSpan } from "../../domain/operations/traceContext.ts"
import { makeProblem, type Problem } from "../../domain/problems/problem.ts"
import { givenRows, skipLocked, unavailable } from "../storedRows.ts"
import { databaseTime } from "../databaseTime.ts"
import { TenantChanges } from "../TenantChanges.ts"
import { makeOutbox } from "../webhooks/outbox.ts"
import { afterCrash } from "./retryDelays.ts"
import { jobEnded, jobTakenOver } from "./JobMetrics.ts"
import { JobSettings } from "./JobSettings.ts"
import { ended, JobSignals, stopped } from "./JobSignals.ts"

const BATCH = 100

export const makeRequeueAbandoned = Effect.fnUntraced(function* (wake: Effect.Effect<void>) {
  const sql = yield* SqlClient.SqlClient
  const signals = yield* JobSignals
  const settings = yield* JobSettings
  const { note } = yield* TenantChanges
  const now = databaseTime(sql)
  const outbox = makeOutbox(sql)
  const owned = givenRows(sql, { job_id: "TEXT" })
  const abandoned = (own: ReadonlyArray<JobId>) => sql`SELECT id FROM jobs
    WHERE status = 'running' AND finished_at IS NULL AND due_at <= ${now}
      AND id NOT IN (SELECT job_id FROM ${owned(own.map((job_id) => ({ job_id })))})
    ORDER BY due_at, id LIMIT ${BATCH} ${skipLocked(sql, "UPDATE")}`

  const putOff = Effect.fnUntraced(function* (id: JobId, crashes: number) {
    const suspicion = crashes - settings.innocentCrashes
    if (suspicion <= 0) return
    const delay = Duration.toMillis(afterCrash(settings, suspicion))
    yield* sql`UPDATE jobs SET due_at = ${now} + ${delay} WHERE id = ${id}`
  })

  const giveUp = Effect.fnUntraced(function* (id: JobId, crashes: number, mode: Mode, createdAt: number) {
    const at = yield* Clock.currentTimeMillis
    yield* sql`UPDATE jobs SET status = 'failed', problem = ${JSON.stringify(crashed(crashes))}, finished_at = ${at},
      expires_at = ${at + Duration.toMillis(settings.retention)} WHERE id = ${id}`
    yield* outbox("job.ended", [id], at)
    yield* signals.publish(ended(id))
    yield* sql.afterCommit(jobEnded(mode, "failed", Duration.millis(at - createdAt)))
  })

  const takeBatch = Effect.fnUntraced(function* (own: ReadonlyArray<JobId>) {
    const rows = yield* sql<Requeued>`
      UPDATE jobs SET status = 'queued', lease = NULL, crashes = crashes + 1, due_at = ${now}
      WHERE id IN (${abandoned(own)}) RETURNING id, tenant, crashes, mode, created_at, traceparent`
    for (const { crashes, created_at, id, mode, tenant, traceparent } of rows) {
      // If the worker is alive after all, it stops now rather than at its next write.
      yield* signals.publish(stopped(id))
      yield* sql.afterCommit(Effect.andThen(jobTakenOver(mode), note(tenant)))
      const isOver = crashes > settings.maxCrashes
      yield* sql.afterCommit(
        Effect.logWarning(
          isOver
            ? "a job kept crashing its workers and has failed"
            : "a job's worker died, or could not reach the database for too long",
        ).pipe(Effect.annotateLogs({ job: id, crashes, trace_id: storedSpan(traceparent).traceId })),
      )
      yield* isOver ? giveUp(id, crashes, mode, created_at) : putOff(id, crashes)
    }
    if (rows.length > 0) yield* wake
    return rows.length
  }, sql.withTransaction)

  return (own: Iterable<JobId> = []) =>
    takeBatch([...own]).pipe(Effect.repeat({ while: (found) => found === BATCH }), Effect.asVoid, unavailable)
})

interface Requeued {
  readonly id: JobId
  readonly tenant: string
  readonly crashes: number
  readonly mode: Mode
  readonly created_at: number
  readonly traceparent: string
}

const crashed = (crashes: number): Problem =>
  makeProblem({
    code: "job-crashed-workers",
    status: 500,
    title: "The job kept crashing its workers.",
    detail: `${crashes} workers in a row died while working on this job, without it finishing a step. It is not tried again.`,
    retryable: false,
  })
