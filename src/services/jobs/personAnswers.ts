/** Answers to questions of jobs, from people or at the deadline. An answer is the outcome of the step that asked. */
import { Clock, Duration, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { TenantId } from "../../domain/jobs/agent.ts"
import { type JobId, JobNotFound } from "../../domain/jobs/job.ts"
import { ASK_PERSON, InputInvalid, InputNotRequired, type JobInput } from "../../domain/jobs/question.ts"
import { shownText } from "../../domain/jobs/tool.ts"
import { misfits } from "../../domain/json/jsonSchema.ts"
import { rowByRow } from "../background.ts"
import { databaseTime } from "../databaseTime.ts"
import { decodeRows, unavailable } from "../storedRows.ts"
import { TenantChanges } from "../TenantChanges.ts"
import { failedOutput, type ToolOutput } from "../tools/ToolOutput.ts"
import { type KeyedRequest, makeKeyRecords } from "./Idempotency.ts"
import { JobQueue } from "./JobQueue.ts"
import { stepBytes } from "./JobRows.ts"
import { changed, JobSignals } from "./JobSignals.ts"
import { StoredQuestion } from "./storedQuestion.ts"

const decode = decodeRows("jobs", Schema.Struct({ question: StoredQuestion }))

const BATCH = 100
/** Time until a question that cannot be read is tried again. */
const POSTPONED = Duration.hours(1)

/** Returns two functions: one answers a question, the other answers the questions whose deadline is over. */
export const makePersonAnswers = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const queue = yield* JobQueue
  const signals = yield* JobSignals
  const { note } = yield* TenantChanges
  const { add } = makeKeyRecords(sql)

  /** Stores the answer and queues the job. `false` if the job no longer waits for it. `stored` is the column's text. */
  const answer = Effect.fnUntraced(function* (id: JobId, stored: string, given: ToolOutput) {
    const [row] = yield* decode([{ question: stored }])
    if (row === undefined) return false
    const { answer_schema, asked_at, asking, question, step: name } = row.question
    const step = JSON.stringify(asking)
    const tool = JSON.stringify({
      name: ASK_PERSON,
      input: shownText(JSON.stringify({ question, answer_schema })),
      output: shownText(given.text),
      is_error: given.is_error,
    })
    const jobs = yield* sql<{ last_event: number; tenant: string }>`
      UPDATE jobs SET status = 'queued', due_at = ${databaseTime(sql)}, question = NULL, input_due_at = NULL,
        last_event = last_event + 1, step_bytes = step_bytes + ${stepBytes(step, tool)}
      WHERE id = ${id} AND status = 'input_required' AND question = ${stored} RETURNING last_event, tenant`
    const [job] = jobs
    if (job === undefined) return false
    yield* sql`INSERT INTO job_steps ${sql.insert({
      job_id: id,
      event: job.last_event,
      name,
      step,
      status: "completed",
      outcome: JSON.stringify(given),
      tool,
      started_at: asked_at.epochMilliseconds,
      finished_at: yield* Clock.currentTimeMillis,
    })}`
    yield* signals.publish(changed(id))
    yield* sql.afterCommit(note(job.tenant))
    yield* queue.wake
    return true
  }, sql.withTransaction)

  /** Fails if the job no longer waits for this answer, or already took the answer of this request. */
  const take = Effect.fnUntraced(function* (id: JobId, stored: string, text: string, request?: KeyedRequest) {
    const isTaken = yield* answer(id, stored, { text, is_error: false })
    const isNew = request === undefined || (yield* add(request, id))
    if (!isTaken || !isNew) return yield* new InputNotRequired()
  }, sql.withTransaction)

  const input = Effect.fn("Jobs.input")(function* (
    tenant: TenantId,
    id: JobId,
    { answer: value, step }: JobInput,
    request?: KeyedRequest,
  ) {
    const rows = yield* sql<{ question: string | null }>`
      SELECT question FROM jobs WHERE tenant = ${tenant} AND id = ${id}`
    const [job] = rows
    if (job === undefined) return yield* new JobNotFound()
    const [row] = yield* decode(job.question === null ? [] : [{ question: job.question }])
    if (job.question === null || row === undefined) return yield* new InputNotRequired()
    if (step !== undefined && step !== row.question.step) return yield* new InputNotRequired()
    const errors = misfits(row.question.answer_schema, value, "payload.answer")
    if (errors.length > 0) return yield* new InputInvalid({ errors })
    yield* take(id, job.question, JSON.stringify(value), request)
  }, unavailable)

  const expire = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const rows = yield* sql<{ id: JobId; question: string }>`
      SELECT id, question FROM jobs WHERE input_due_at <= ${now} ORDER BY input_due_at LIMIT ${BATCH}`
    const expireOne = ({ id, question }: (typeof rows)[number]) =>
      Effect.as(unavailable(answer(id, question, NOBODY_ANSWERED)), [])
    const postpone = ({ id }: { readonly id: JobId }) =>
      Effect.as(sql`UPDATE jobs SET input_due_at = ${now + Duration.toMillis(POSTPONED)} WHERE id = ${id}`, [])
    yield* rowByRow(rows, expireOne, postpone)
  }).pipe(unavailable)

  return { input, expire }
})

const NOBODY_ANSWERED = failedOutput("Nobody answered in time. Go on without the answer, or say what you could not do.")
