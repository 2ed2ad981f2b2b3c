/** Stores finished steps. Steps of different jobs that succeed at the same time are stored together. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { JobId, StepCall } from "../../domain/jobs/job.ts"
import { type Step, stepName } from "../../domain/jobs/step.ts"
import type { ToolUse } from "../../domain/jobs/tool.ts"
import type { Problem } from "../../domain/problems/problem.ts"
import type { KeptReceipt } from "../../domain/protocol/keptReceipt.ts"
import { makeBatched } from "../batched.ts"
import { spanned } from "../spans.ts"
import { givenRows, inTime, unavailableUnlimited } from "../storedRows.ts"
import { stepBytes } from "./JobRows.ts"
import { changed, JobSignals } from "./JobSignals.ts"
import { HELD_BY_GIVEN, heldBy, type Lease, ranMs } from "./Lease.ts"

/** A finished step; `outcome` is JSON, or `null` if the step failed. Times in milliseconds since the epoch. */
export interface FinishedStep {
  readonly step: Step
  readonly outcome: string | null
  readonly call: StepCall | null
  readonly receipt?: KeptReceipt | undefined
  readonly tool?: ToolUse | undefined
  /** Why it failed, if known. */
  readonly problem?: Problem | undefined
  readonly startedAt: number
  readonly finishedAt: number
}

export const makeRecordStep = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const signals = yield* JobSignals
  const writeSteps = makeWriteSteps(sql)

  const recordSucceeded = yield* makeBatched<StepRow, boolean>({
    keyOf: ({ job_id }) => job_id,
    run: Effect.fnUntraced(function* (rows) {
      const written = new Set((yield* writeSteps(rows)).map(({ id }) => id))
      yield* Effect.forEach(written, (id) => signals.publish(changed(id)), { discard: true })
      return rows.map(({ job_id }) => written.has(job_id as JobId))
    }),
  })

  const recordFailed = Effect.fnUntraced(function* (lease: Lease, step: FinishedStep) {
    const { bytes, lease: _, ...known } = columnsOf(lease, step)
    const columns = { ...known, problem: step.problem === undefined ? null : JSON.stringify(step.problem) }
    const added = bytes + Buffer.byteLength(columns.problem ?? "")
    const rows = yield* sql<{ last_event: number }>`
      UPDATE jobs SET last_event = last_event + 1, step_bytes = step_bytes + ${added}, crashes = 0,
        ran_ms = ${yield* ranMs(lease)}
      WHERE ${heldBy(sql, lease)} RETURNING last_event`
    const [row] = rows
    if (row === undefined) return false
    // After a commit whose answer was lost, the write is retried: skip a step that is stored already. A unique index
    // rejects duplicates of successful steps only. The row lock above makes sure that the first commit is over.
    const same = yield* sql`SELECT event FROM job_steps WHERE job_id = ${columns.job_id} AND name = ${columns.name}
      AND status = 'failed' AND started_at = ${columns.started_at} AND finished_at = ${columns.finished_at}`
    if (same.length > 0) return true
    yield* sql`INSERT INTO job_steps ${sql.insert({ ...columns, event: row.last_event })}`
    yield* signals.publish(changed(lease.job.id))
    return true
  }, sql.withTransaction)

  return Effect.fnUntraced(
    function* (lease: Lease, step: FinishedStep) {
      if (step.outcome === null) return yield* inTime(recordFailed(lease, step))
      return yield* recordSucceeded({ ...columnsOf(lease, step), ran_ms: yield* ranMs(lease) })
    },
    unavailableUnlimited,
    spanned("JobWrites.recordStep"),
  )
})

const columnsOf = (
  { job, token }: Lease,
  { call, finishedAt, outcome, receipt, startedAt, step, tool }: FinishedStep,
) => {
  const shown = {
    step: JSON.stringify(step),
    call: call === null ? null : JSON.stringify(call),
    tool: tool === undefined ? null : JSON.stringify(tool),
  }
  return {
    ...shown,
    bytes: stepBytes(...Object.values(shown)),
    job_id: job.id,
    lease: token,
    name: stepName(step),
    status: outcome === null ? "failed" : "completed",
    outcome,
    receipt: receipt === undefined ? null : JSON.stringify(receipt),
    started_at: startedAt,
    finished_at: finishedAt,
  }
}

type StepRow = ReturnType<typeof columnsOf> & { readonly ran_ms: number }

/** Returns a function that stores successful steps of different jobs, and returns the jobs that were still held. */
const makeWriteSteps = (sql: SqlClient.SqlClient) => {
  const steps = givenRows(sql, {
    job_id: "TEXT",
    lease: "TEXT",
    ran_ms: "BIGINT",
    bytes: "BIGINT",
    name: "TEXT",
    step: "TEXT",
    status: "TEXT",
    outcome: "TEXT",
    call: "TEXT",
    receipt: "TEXT",
    tool: "TEXT",
    started_at: "BIGINT",
    finished_at: "BIGINT",
  })
  const areHeld = sql.literal(HELD_BY_GIVEN)
  const counted = sql.literal(
    "last_event = last_event + 1, step_bytes = step_bytes + given.bytes, crashes = 0, failing_since = NULL, ran_ms = given.ran_ms",
  )
  const columns = sql.literal(
    "job_id, event, name, step, status, outcome, call, receipt, tool, started_at, finished_at",
  )
  const given = sql.literal(
    "job_id, last_event, name, step, given.status, outcome, call, receipt, tool, given.started_at, given.finished_at",
  )
  return sql.onDialectOrElse({
    pg: () => (rows: ReadonlyArray<StepRow>) =>
      sql<{ id: JobId }>`WITH given AS (SELECT * FROM ${steps(rows)}),
        held AS (UPDATE jobs SET ${counted} FROM given WHERE ${areHeld} RETURNING jobs.id, last_event),
        written AS (INSERT INTO job_steps (${columns}) SELECT ${given} FROM given JOIN held ON id = job_id
          ON CONFLICT DO NOTHING)
        SELECT id FROM held`,
    orElse: () => (rows: ReadonlyArray<StepRow>) =>
      sql.withTransaction(
        Effect.tap(
          sql<{ id: JobId }>`UPDATE jobs SET ${counted} FROM ${steps(rows)} WHERE ${areHeld} RETURNING id`,
          sql`INSERT INTO job_steps (${columns}) SELECT ${given} FROM ${steps(rows)} JOIN jobs ON ${areHeld}
            WHERE TRUE ON CONFLICT DO NOTHING`,
        ),
      ),
  })
}
