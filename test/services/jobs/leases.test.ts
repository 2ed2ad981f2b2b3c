/** The state of a job's row between workers. */
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Deferred, Duration, Effect, Fiber, Option } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { makeProblem } from "../../../src/domain/problems/problem.ts"
import type { Agents } from "../../../src/services/agents/Agents.ts"
import { type AttemptFailure, JobWrites } from "../../../src/services/jobs/JobWrites.ts"
import { Jobs } from "../../../src/services/jobs/Jobs.ts"
import { JobQueue } from "../../../src/services/jobs/JobQueue.ts"
import { JobSignals, stopped } from "../../../src/services/jobs/JobSignals.ts"
import type { Lease } from "../../../src/services/jobs/Lease.ts"
import { describeDatabases, postgres, postgresIsThere } from "../../support/databases.ts"
import { enqueueOne, makeAgent, services, takeJob } from "../../support/jobs.ts"
import { withinTurns } from "../../support/withinTurns.ts"

/** Without background tasks: adjusting the clock would run them for all that time. */
const still = { leaseRefresh: Duration.days(1000), pruneEvery: Duration.days(1000) }

const passing: AttemptFailure = {
  problem: makeProblem({ code: "scripted", status: 503, title: "As scripted.", retryable: true }),
  retryAfter: Duration.zero,
  isFault: false,
}

/** One job; each start is by another worker, as the queue would deliver it. */
const oneJob = Effect.gen(function* () {
  const jobs = yield* Jobs
  const writes = yield* JobWrites
  const sql = yield* SqlClient.SqlClient
  const { job, tenant } = yield* enqueueOne()
  const row = Effect.flatMap(
    sql<{ crashes: number; ran_ms: number }>`SELECT crashes, ran_ms FROM jobs WHERE id = ${job.id}`,
    (rows) => Effect.fromOption(Option.fromUndefinedOr(rows[0])),
  )
  const start = takeJob(job)
  return {
    writes,
    row,
    start: Effect.flatMap(start, Effect.fromOption),
    tryStart: start,
    get: jobs.get(tenant, job.id),
    step: (lease: Lease, name: string, outcome: string | null) =>
      writes.recordStep(lease, { step: { kind: name }, outcome, call: null, startedAt: 0, finishedAt: 0 }),
  }
})

describeDatabases("a job that passes from worker to worker", (database) => {
  const test = <E>(
    name: string,
    body: Effect.Effect<void, E, Jobs | JobWrites | JobQueue | JobSignals | Agents | SqlClient.SqlClient>,
  ) =>
    it.effect(name, () =>
      Effect.provide(body, services(database.layer, { ...still, innocentCrashes: 2, maxCrashes: 4 })),
    )

  test(
    "resets its crash count when a step or an attempt finishes or fails",
    Effect.gen(function* () {
      const { row, start, step, writes } = yield* oneJob
      const crashesOf = Effect.map(row, ({ crashes }) => crashes)
      yield* start
      const second = yield* start
      assert.strictEqual(yield* crashesOf, 1)
      yield* step(second, "a", '"x"')
      assert.strictEqual(yield* crashesOf, 0)
      const third = yield* start
      assert.strictEqual(yield* crashesOf, 1)
      yield* step(third, "b", null)
      assert.strictEqual(yield* crashesOf, 0)
      const fourth = yield* start
      assert.strictEqual(yield* crashesOf, 1)
      yield* writes.fail(fourth, passing)
      assert.strictEqual(yield* crashesOf, 0)
    }),
  )

  test(
    "keeps its crash count when a shutdown puts it back",
    Effect.gen(function* () {
      const { row, start, writes } = yield* oneJob
      yield* start
      yield* writes.release(yield* start)
      assert.strictEqual((yield* row).crashes, 1)
    }),
  )

  test(
    "sums the time of its workers without the time in the queue",
    Effect.gen(function* () {
      const { row, start, step, writes } = yield* oneJob
      const work = TestClock.adjust("1 second")
      const wait = TestClock.adjust("10 seconds")
      const ranOf = Effect.map(row, ({ ran_ms }) => ran_ms)

      const first = yield* start
      yield* work
      yield* writes.fail(first, passing)
      assert.strictEqual(yield* ranOf, 1000)
      yield* wait

      const second = yield* start
      assert.strictEqual(second.job.ran_ms, 1000)
      yield* work
      yield* writes.release(second)
      assert.strictEqual(yield* ranOf, 2000)
      yield* wait

      const third = yield* start
      yield* work
      yield* step(third, "a", '"x"')
      assert.strictEqual(yield* ranOf, 3000)
      yield* work
      // Dies. The time after its last step is unknown.
      const fourth = yield* start
      yield* work
      yield* writes.end(fourth, { status: "failed", problem: passing.problem })
      assert.strictEqual(yield* ranOf, 4000)
    }),
  )

  test(
    "starts when its first worker starts",
    Effect.gen(function* () {
      const { get, start, writes } = yield* oneJob
      yield* TestClock.adjust("1 second")
      const first = yield* start
      yield* TestClock.adjust("1 second")
      yield* writes.fail(first, passing)
      yield* TestClock.adjust("1 second")
      yield* writes.release(yield* start)
      yield* start
      const { started_at } = yield* get
      assert.strictEqual(started_at === undefined ? undefined : DateTime.toEpochMillis(started_at), 1000)
    }),
  )

  test(
    "is kept for the retention time after its end",
    Effect.gen(function* () {
      const { get, start, writes } = yield* oneJob
      yield* TestClock.adjust("10 days")
      yield* writes.end(yield* start, { status: "failed", problem: passing.problem })
      assert.strictEqual(DateTime.toEpochMillis((yield* get).expires_at), 40 * 86_400_000)
    }),
  )

  test(
    "signals its worker to stop if it is taken back while the worker is alive",
    Effect.scoped(
      Effect.gen(function* () {
        const signals = yield* JobSignals
        const { get, start } = yield* oneJob
        yield* start
        const stop = yield* signals.subscribe(stopped((yield* get).id))
        yield* start
        // Well below the time after which it looks without having been woken.
        yield* TestClock.withLive(withinTurns("4 seconds")(stop.next))
      }),
    ),
  )

  test(
    "is not held by a worker that ended it, put it back, or lost it",
    Effect.gen(function* () {
      for (const leave of ["fail", "release", "end", "crash"] as const) {
        const { start, tryStart, writes } = yield* oneJob
        const lease = yield* start
        assert.isTrue((yield* writes.renew([lease])).has(lease.job.id))
        if (leave === "fail") yield* writes.fail(lease, passing)
        if (leave === "release") yield* writes.release(lease)
        if (leave === "end") yield* writes.end(lease, { status: "failed", problem: passing.problem })
        if (leave === "crash") yield* tryStart
        assert.isFalse((yield* writes.renew([lease])).has(lease.job.id), leave)
      }
    }),
  )
})

describeDatabases("jobs of dead workers", (database) => {
  it.effect("are all put back in one search, in any number", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const queue = yield* JobQueue
      const sql = yield* SqlClient.SqlClient
      const { agent, tenant } = yield* makeAgent()
      // More than two transactions' worth, and no multiple of one.
      const count = 250
      yield* Effect.forEach(Array.from({ length: count }), () => jobs.enqueue(tenant, agent.id, { task: "x" }), {
        concurrency: "unbounded",
      })
      yield* sql`UPDATE jobs SET status = 'running', lease = 'dead', due_at = 0`
      yield* queue.requeueAbandoned()
      const rows = yield* sql<{ status: string; crashes: number }>`SELECT status, crashes FROM jobs`
      assert.deepStrictEqual(
        rows.map(({ crashes, status }) => `${status} ${crashes}`),
        Array.from({ length: count }, () => "queued 1"),
      )
    }).pipe(Effect.provide(services(database.layer, still))),
  )
})

describe.skipIf(!postgresIsThere)("jobs of several workers on postgres", () => {
  it.effect("are renewed without deadlock beside a transaction that writes both in another order", () =>
    Effect.gen(function* () {
      const writes = yield* JobWrites
      const queue = yield* JobQueue
      const sql = yield* SqlClient.SqlClient
      yield* enqueueOne()
      yield* enqueueOne()
      const claimed = yield* queue.claim(2)
      const [first, second] = claimed.map(({ job }) => job.id)
      const write = (id: string | undefined) => sql`UPDATE jobs SET crashes = 0 WHERE id = ${id ?? null}`
      const isWaiting = Effect.map(
        sql`SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'
          AND application_name = current_setting('application_name')`,
        (rows) => rows.length > 0,
      )
      for (const [one, other] of [
        [first, second],
        [second, first],
      ]) {
        const [locked, goOn] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const writing = yield* write(one).pipe(
          Effect.andThen(Deferred.succeed(locked, undefined)),
          Effect.andThen(Deferred.await(goOn)),
          Effect.andThen(write(other)),
          sql.withTransaction,
          Effect.forkChild,
        )
        yield* Deferred.await(locked)
        const renewing = yield* Effect.forkChild(writes.renew(claimed))
        yield* Effect.repeat(isWaiting, { until: (waits) => waits })
        yield* Deferred.succeed(goOn, undefined)
        yield* Fiber.join(writing)
        assert.deepStrictEqual([...(yield* Fiber.join(renewing))].sort(), [first, second].sort())
      }
    }).pipe(Effect.provide(services(postgres.layer, still))),
  )
})
