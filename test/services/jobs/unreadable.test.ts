/** Stored rows that this version cannot read. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { JobQueue } from "../../../src/services/jobs/JobQueue.ts"
import { describeDatabases } from "../../support/databases.ts"
import { answer, ended, enqueueOne, gateway, type Program, services } from "../../support/jobs.ts"

/** Asks a person, and ends when it runs again. */
const askingOnce = (): Program => {
  const asked = new Set<string>()
  return ({ ask, jobId }) => {
    if (asked.has(jobId)) return Effect.succeed(answer("done"))
    asked.add(jobId)
    return ask({
      asking: { kind: "ask", call: 1, turn: 1 },
      question: "Go on?",
      answer_schema: {},
      timeoutSeconds: 86_400,
    })
  }
}

describeDatabases("a job that cannot be read", (database) => {
  it.effect("does not keep the jobs that are claimed with it from their workers", () =>
    Effect.gen(function* () {
      const queue = yield* JobQueue
      const sql = yield* SqlClient.SqlClient
      const [agent, task, good] = [yield* enqueueOne(), yield* enqueueOne(), yield* enqueueOne()]
      yield* sql`UPDATE jobs SET agent = '{}' WHERE id = ${agent.job.id}`
      yield* sql`UPDATE jobs SET task = '{' WHERE id = ${task.job.id}`
      const claimed = yield* queue.claim(10)
      assert.deepStrictEqual(
        claimed.map(({ job }) => job.id),
        [good.job.id],
      )
    }).pipe(Effect.provide(services(database.layer))),
  )

  it.live("does not keep the questions of others from their deadlines", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [odd, good] = [yield* enqueueOne(), yield* enqueueOne()]
      const waiting = sql`SELECT id FROM jobs WHERE status = 'input_required'`
      yield* Effect.repeat(waiting, { until: (rows) => rows.length === 2 })
      yield* sql`UPDATE jobs SET question = '{}', input_due_at = 1 WHERE id = ${odd.job.id}`
      yield* Effect.repeat(sql`SELECT 1 FROM jobs WHERE input_due_at = 1`, { until: (rows) => rows.length === 0 })
      yield* sql`UPDATE jobs SET input_due_at = 2 WHERE id = ${good.job.id}`
      assert.deepInclude(yield* ended(good.tenant, good.job), { status: "completed" })
      const [row] = yield* sql<{ due: number }>`SELECT input_due_at AS due FROM jobs WHERE id = ${odd.job.id}`
      assert.closeTo(row?.due ?? 0, Date.now() + 3_600_000, 600_000)
    }).pipe(Effect.provide(gateway(database.layer, askingOnce()))),
  )
})
