/** Jobs that find too little left of a budget. */
import { assert, it } from "@effect/vitest"
import { Clock, Duration, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { BudgetExhausted } from "../../../src/domain/access/budgets.ts"
import { makeProblem } from "../../../src/domain/problems/problem.ts"
import { databaseTime } from "../../../src/services/databaseTime.ts"
import { JobFailure } from "../../../src/services/jobs/JobProgram.ts"
import { routingFailure } from "../../../src/services/jobs/modes/engine/jobFailures.ts"
import { Jobs } from "../../../src/services/jobs/Jobs.ts"
import { describeDatabases } from "../../support/databases.ts"
import { answer, gateway, makeAgent, type Program, stepsOf, text } from "../../support/jobs.ts"

const HOUR = 3_600_000

/** Finds a budget that renews in an hour, and at the second time something left. */
const poorAtFirst = (): Program => {
  let runs = 0
  return () =>
    Effect.gen(function* () {
      if (++runs > 1) return answer("done")
      const problem = makeProblem({ code: "budget-exhausted", status: 429, title: "", retryable: false })
      return yield* new JobFailure({ problem, renewsAt: (yield* Clock.currentTimeMillis) + HOUR })
    })
}

const refusal = (members: Partial<BudgetExhausted>) =>
  routingFailure(
    new BudgetExhausted({
      owner: { kind: "key", id: "key" },
      per: "month",
      leftCost: 1,
      leftTokens: null,
      isReserved: false,
      ...members,
    }),
  )

/** Finds the budget reserved by other calls, except at the third time. */
const crowdedAtFirst = (): Program => {
  let runs = 0
  const refused = refusal({ isReserved: true })
  return () => Effect.suspend(() => (++runs < 3 ? refused : Effect.succeed(answer("done"))))
}

describeDatabases("a job without budget", (database) => {
  it.live("waits for the renewal if it asked to, without a worker and without using an attempt", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const sql = yield* SqlClient.SqlClient
      const { agent, tenant } = yield* makeAgent()
      const { id } = yield* jobs.enqueue(tenant, agent.id, { task: "x", options: { on_budget: "wait" } })
      const waiting = sql<{ ms: number }>`SELECT due_at - ${databaseTime(sql)} AS ms FROM jobs
        WHERE status = 'queued' AND lease IS NULL AND started_at IS NOT NULL`
      const [row] = yield* Effect.repeat(waiting, { until: (rows) => rows.length > 0 })
      assert.closeTo(row?.ms ?? 0, HOUR, HOUR / 10)
      assert.deepInclude(yield* jobs.get(tenant, id), { status: "queued", attempt: 1 })
      // A waiting job does not show that there are too few workers.
      assert.deepInclude(yield* jobs.queueState, { queued: 1, running: 0, oldestQueuedMs: 0 })
      yield* sql`UPDATE jobs SET due_at = 0`
      assert.deepInclude(yield* jobs.wait(tenant, id, "10 seconds"), { status: "completed", attempt: 1 })
    }).pipe(Effect.provide(gateway(database.layer, poorAtFirst()))),
  )

  it.live("ends at once if it did not", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const { agent, tenant } = yield* makeAgent()
      const { id } = yield* jobs.enqueue(tenant, agent.id, { task: "x" })
      const ended = yield* jobs.wait(tenant, id, "10 seconds")
      assert.deepInclude(ended, { status: "failed" })
      assert.strictEqual(ended.problem?.code, "budget-exhausted")
    }).pipe(Effect.provide(gateway(database.layer, poorAtFirst()))),
  )

  it.live("tries again soon if only reservations of other calls leave no room", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const { agent, tenant } = yield* makeAgent()
      const { id } = yield* jobs.enqueue(tenant, agent.id, { task: "x" })
      assert.deepInclude(yield* jobs.wait(tenant, id, "10 seconds"), { status: "completed", attempt: 3 })
    }).pipe(Effect.provide(gateway(database.layer, crowdedAtFirst()))),
  )

  it.live("fails if reservations of other calls leave no room until retries end", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const { agent, tenant } = yield* makeAgent()
      const { id } = yield* jobs.enqueue(tenant, agent.id, { task: "x" })
      assert.strictEqual((yield* jobs.wait(tenant, id, "10 seconds")).problem?.code, "budget-reserved")
    }).pipe(Effect.provide(gateway(database.layer, crowdedAtFirst(), { retryFor: Duration.zero }))),
  )

  it.live("waits for other calls without using up the retry time of other failures", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const sql = yield* SqlClient.SqlClient
      const { agent, tenant } = yield* makeAgent()
      const { id } = yield* jobs.enqueue(tenant, agent.id, { task: "x", options: { on_budget: "wait" } })
      const waiting = sql<{ ms: number; failing_since: number | null }>`
        SELECT due_at - ${databaseTime(sql)} AS ms, failing_since FROM jobs
        WHERE status = 'queued' AND lease IS NULL AND started_at IS NOT NULL AND due_at > 0`
      for (const _ of [1, 2]) {
        const [row] = yield* Effect.repeat(waiting, { until: (rows) => rows.length > 0 })
        assert.isAtLeast(row?.ms ?? 0, 3000)
        assert.isNull(row?.failing_since)
        assert.deepInclude(yield* jobs.get(tenant, id), { status: "queued" })
        yield* sql`UPDATE jobs SET due_at = 0`
      }
      assert.deepInclude(yield* jobs.wait(tenant, id, "10 seconds"), { status: "completed", attempt: 1 })
    }).pipe(Effect.provide(gateway(database.layer, crowdedAtFirst(), { retryFor: Duration.zero }))),
  )

  for (const [name, refused] of [
    ["reserved", refusal({ isReserved: true })],
    ["used up", Effect.flatMap(Clock.currentTimeMillis, (now) => refusal({ renewsAt: now + HOUR }))],
  ] as const) {
    it.live(`stores no failed step while it waits for a budget that is ${name}`, () => {
      let looks = 0
      const said = Effect.suspend(() => (++looks > 3 ? Effect.succeed("done") : refused))
      return Effect.gen(function* () {
        const jobs = yield* Jobs
        const sql = yield* SqlClient.SqlClient
        const { agent, tenant } = yield* makeAgent()
        const { id } = yield* jobs.enqueue(tenant, agent.id, { task: "x", options: { on_budget: "wait" } })
        const waiting = sql<{ last_event: number; step_bytes: number }>`SELECT last_event, step_bytes FROM jobs
          WHERE status = 'queued' AND lease IS NULL AND due_at > 0 AND started_at IS NOT NULL`
        for (const _ of [1, 2, 3]) {
          const [row] = yield* Effect.repeat(waiting, { until: (rows) => rows.length > 0 })
          assert.deepStrictEqual({ ...row }, { last_event: 0, step_bytes: 0 })
          assert.deepStrictEqual((yield* jobs.get(tenant, id)).steps, [])
          yield* sql`UPDATE jobs SET due_at = 0`
        }
        assert.deepStrictEqual(stepsOf(yield* jobs.wait(tenant, id, "10 seconds")), ["ask completed"])
      }).pipe(Effect.provide(gateway(database.layer, (context) => Effect.map(text(context, "ask", said), answer))))
    })
  }

  it.live("stores a step that paid for a call before the budget was used up", () => {
    const call = { provider: "a", model: "m", usage: null, cost_micro_usd: 7, calls: 1 }
    let looks = 0
    const said = Effect.suspend(() =>
      ++looks > 1
        ? Effect.succeed("done")
        : Effect.mapError(refusal({ isReserved: true }), (failure) => new JobFailure({ ...failure, call })),
    )
    return Effect.gen(function* () {
      const jobs = yield* Jobs
      const sql = yield* SqlClient.SqlClient
      const { agent, tenant } = yield* makeAgent()
      const { id } = yield* jobs.enqueue(tenant, agent.id, { task: "x", options: { on_budget: "wait" } })
      const release = sql`UPDATE jobs SET due_at = 0 WHERE status = 'queued' AND lease IS NULL AND due_at > 0
        AND started_at IS NOT NULL RETURNING id`
      yield* Effect.repeat(release, { until: (rows) => rows.length > 0 })
      const ended = yield* jobs.wait(tenant, id, "10 seconds")
      assert.deepStrictEqual(stepsOf(ended), ["ask failed", "ask completed"])
      assert.deepInclude(ended.steps[0], { cost_micro_usd: 7 })
    }).pipe(Effect.provide(gateway(database.layer, (context) => Effect.map(text(context, "ask", said), answer))))
  })
})
