/** The earlier conversation of a job in a thread. */
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { Message } from "../../domain/chat/chat.ts"
import { type JobId, JobTask, messagesOf } from "../../domain/jobs/job.ts"
import { JobResult } from "../../domain/jobs/modes.ts"
import { HISTORY } from "../../domain/jobs/thread.ts"
import { pageOf, type PageRow } from "../../domain/operations/storage.ts"
import { decodeRows, storedJson } from "../storedRows.ts"
import { asMessage } from "./modes/engine/prompts.ts"

const decodeTurns = decodeRows("jobs", Schema.Struct({ task: storedJson(JobTask), result: storedJson(JobResult) }))

/** Returns a function that puts a thread's completed jobs before a task, the oldest first, within {@link HISTORY}. */
export const makeWithHistory = (sql: SqlClient.SqlClient) =>
  Effect.fnUntraced(function* (thread: string, { id, task }: { readonly id: JobId; readonly task: JobTask }) {
    const rows = yield* sql<PageRow>`SELECT id, octet_length(task) + octet_length(result) AS bytes FROM jobs
      WHERE thread = ${thread} AND status = 'completed' AND id < ${id} ORDER BY id DESC LIMIT ${HISTORY.jobs}`
    const { items } = pageOf(rows, HISTORY.jobs, HISTORY.bytes)
    if (items.length === 0) return task
    const turns = yield* decodeTurns(yield* sql`SELECT task, result FROM jobs WHERE id IN ${sql.in(items)} ORDER BY id`)
    const said = turns.flatMap(({ result, task: earlier }): ReadonlyArray<Message> => [
      ...messagesOf(earlier),
      { role: "assistant", content: asMessage(result.answer) },
    ])
    const whole: JobTask = [...said, ...messagesOf(task)]
    return whole
  })
