/** How long, and how often, a job that fails is tried again. */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Latch, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { makeProblem } from "../../../src/domain/problems/problem.ts"
import type { Agents } from "../../../src/services/agents/Agents.ts"
import { databaseTime } from "../../../src/services/databaseTime.ts"
import { afterFailure } from "../../../src/services/jobs/retryDelays.ts"
import { type AttemptFailure, JobWrites } from "../../../src/services/jobs/JobWrites.ts"
import type { JobQueue } from "../../../src/services/jobs/JobQueue.ts"
import { Jobs } from "../../../src/services/jobs/Jobs.ts"
import type { Lease } from "../../../src/services/jobs/Lease.ts"
import { JobSettings } from "../../../src/services/jobs/JobSettings.ts"
import { describeDatabases } from "../../support/databases.ts"
import { answer, ended, enqueueOne, failure, gateway, makeAgent, services, takeJob, text } from "../../support/jobs.ts"

const settings = JobSettings.defaultValue()
/** The product's own, and nothing that repeats: adjusting the clock by hours would make it repeat all those hours. */
const still = { ...settings, leaseRefresh: Duration.days(1000), pruneEvery: Duration.days(1000) }

const failing = (code: string, rest: Partial<AttemptFailure> = {}): AttemptFailure => ({
  problem: makeProblem({ code, status: 503, title: "As scripted.", retryable: true }),
  retryAfter: Duration.zero,
  isFault: false,
  ...rest,
})

/** One job, whose turns come when the test says so. */
const oneJob = Effect.gen(function* () {
  const jobs = yield* Jobs
  const writes = yield* JobWrites
  const sql = yield* SqlClient.SqlClient
  const { job, tenant } = yield* enqueueOne()
  return {
    get: jobs.get(tenant, job.id),
    start: Effect.flatMap(takeJob(job), Effect.fromOption),
    /** Fails the attempt; the wait until the next, in whole seconds, if there is to be one. */
    fail: Effect.fnUntraced(function* (lease: Lease, failure: AttemptFailure) {
      assert.isTrue(yield* writes.fail(lease, failure))
      const rows = yield* sql<{ wait: number }>`SELECT due_at - ${databaseTime(sql)} AS wait FROM jobs
        WHERE id = ${job.id} AND status = 'queued'`
      return rows[0] === undefined ? undefined : Math.ceil(rows[0].wait / 1000)
    }),
    step: (lease: Lease, outcome: string | null) =>
      writes.recordStep(lease, { step: { kind: "a" }, outcome, call: null, startedAt: 0, finishedAt: 0 }),
  }
})

describe("the delay after a failure", () => {
  it.effect.prop(
    "is between half and all of the time the job has been failing, within bounds, or as long as the upstream asked for",
    [
      Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000_000 })),
      Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 })),
    ],
    ([failed, asked]) =>
      Effect.gen(function* () {
        const wait = yield* afterFailure(settings, Duration.millis(failed), Duration.millis(asked))
        const full = Math.min(Math.max(failed, 2000), 300_000)
        const least = Math.min(asked, 300_000)
        assert.isAtLeast(Duration.toMillis(wait), Math.max(full / 2, least))
        assert.isAtMost(Duration.toMillis(wait), Math.max(full, least))
      }),
  )

  it.effect("differs between jobs that failed together", () =>
    Effect.gen(function* () {
      const waits = yield* Effect.all(
        Array.from({ length: 20 }, () => afterFailure(settings, Duration.minutes(1), Duration.zero)),
      )
      assert.isAbove(new Set(waits.map(Duration.toMillis)).size, 10)
    }),
  )
})

describeDatabases("a job that fails", (database) => {
  const test = <E>(
    name: string,
    body: Effect.Effect<void, E, Jobs | JobWrites | JobQueue | Agents | SqlClient.SqlClient>,
  ) => it.effect(name, () => Effect.provide(body, services(database.layer, still)))

  test(
    "survives an outage of an hour with growing delays, and then fails with the last problem",
    Effect.gen(function* () {
      const job = yield* oneJob
      const waits: Array<number> = []
      let elapsed = 0
      while (true) {
        const lease = yield* job.start
        const wait = yield* job.fail(lease, failing(`attempt-${waits.length + 1}`))
        if (wait === undefined) break
        waits.push(wait)
        elapsed += wait
        yield* TestClock.adjust(Duration.seconds(wait))
      }
      const done = yield* job.get
      assert.deepInclude(done, { status: "failed", attempt: waits.length + 1 })
      assert.strictEqual(done.problem?.code, `attempt-${waits.length + 1}`)
      // Whole seconds, rounded up, and one more on SQLite.
      assert.isAtLeast(elapsed, 3600)
      assert.isAtMost(elapsed, 3602)
      assert.isAtMost(Math.max(...waits), 302)
      assert.isAtMost(waits[0] ?? 0, 4)
      assert.isAtLeast(Math.min(...waits.slice(-8, -1)), 150)
      assert.isAtMost(waits.length, 40)
    }),
  )

  test(
    "gets a new retry time when a step finishes, but not when one fails",
    Effect.gen(function* () {
      const [lucky, unlucky] = [yield* oneJob, yield* oneJob]
      for (const [job, outcome] of [
        [lucky, '"x"'],
        [unlucky, null],
      ] as const) {
        yield* job.fail(yield* job.start, failing("first"))
        yield* TestClock.adjust("50 minutes")
        const lease = yield* job.start
        yield* job.step(lease, outcome)
        yield* job.fail(lease, failing("second"))
        yield* TestClock.adjust("50 minutes")
        yield* job.fail(yield* job.start, failing("third"))
      }
      assert.strictEqual((yield* lucky.get).status, "queued")
      assert.strictEqual((yield* unlucky.get).status, "failed")
    }),
  )

  test(
    "fails at the second fault of this product, with or without other failures in between",
    Effect.gen(function* () {
      const job = yield* oneJob
      const fault = failing("internal", { isFault: true })
      assert.isDefined(yield* job.fail(yield* job.start, fault))
      const lease = yield* job.start
      yield* job.step(lease, '"x"')
      assert.isDefined(yield* job.fail(lease, failing("may pass")))
      assert.isUndefined(yield* job.fail(yield* job.start, fault))
      assert.deepInclude(yield* job.get, { status: "failed", attempt: 3 })
    }),
  )

  it.live("occupies no worker while it waits, and can be cancelled", () => {
    const failed = Latch.makeUnsafe()
    return Effect.gen(function* () {
      const jobs = yield* Jobs
      const { agent, tenant } = yield* makeAgent()
      const job = yield* jobs.enqueue(tenant, agent.id, { task: "fail" })
      yield* failed.await
      const other = yield* jobs.enqueue(tenant, agent.id, { task: "succeed" })
      assert.strictEqual((yield* ended(tenant, other)).status, "completed")
      assert.deepInclude(yield* jobs.get(tenant, job.id), { status: "queued", attempt: 2 })
      assert.strictEqual((yield* jobs.cancel(tenant, job.id)).job.status, "cancelled")
    }).pipe(
      Effect.provide(
        gateway(
          database.layer,
          (context) =>
            context.task === "fail"
              ? Effect.andThen(failed.open, Effect.fail(failure(true)))
              : Effect.map(text(context, "a", Effect.succeed("x")), answer),
          { workers: 1, retryBase: Duration.hours(1), retryCap: Duration.hours(1) },
        ),
      ),
    )
  })
})
