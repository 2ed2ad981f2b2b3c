/** Why a queued job does not run. */
import { assert, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { makeProblem } from "../../../src/domain/problems/problem.ts"
import { JobQueue } from "../../../src/services/jobs/JobQueue.ts"
import { Jobs } from "../../../src/services/jobs/Jobs.ts"
import { JobWrites } from "../../../src/services/jobs/JobWrites.ts"
import { describeDatabases } from "../../support/databases.ts"
import { enqueueOne, makeAgent, services, takeJob } from "../../support/jobs.ts"

const overloaded = {
  problem: makeProblem({ code: "upstream-overloaded", status: 503, title: "As scripted.", retryable: true }),
  retryAfter: Duration.minutes(3),
  isFault: false,
}

describeDatabases("a queued job", (database) => {
  it.effect("says that it waits for a worker, or that its tenant has its share of them", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const queue = yield* JobQueue
      const { agent, tenant } = yield* makeAgent()
      const enqueue = jobs.enqueue(tenant, agent.id, { task: "x" })
      const ids = [(yield* enqueue).id, (yield* enqueue).id, (yield* enqueue).id]
      const reasons = Effect.map(
        Effect.forEach(ids, (id) => jobs.get(tenant, id)),
        (read) => read.map(({ waiting }) => waiting?.reason),
      )
      assert.deepStrictEqual(yield* reasons, ["worker", "worker", "worker"])
      yield* queue.claim(1)
      assert.deepStrictEqual(yield* reasons, [undefined, "worker", "worker"])
      yield* queue.claim(1)
      assert.deepStrictEqual(yield* reasons, [undefined, undefined, "tenant-limit"])
      const { items } = yield* jobs.list(tenant)
      assert.deepStrictEqual(
        items.map(({ waiting }) => waiting),
        [{ reason: "tenant-limit" }, undefined, undefined],
      )
    }).pipe(Effect.provide(services(database.layer, { workersPerTenant: 2 }))),
  )

  it.effect("says until when it waits for a retry or a budget; waiting for a budget clears failures", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const writes = yield* JobWrites
      const { job, tenant } = yield* enqueueOne()
      const begin = Effect.flatMap(takeJob(job), Effect.fromOption)
      // The database's clock is the real one.
      const waits = Effect.map(jobs.get(tenant, job.id), ({ waiting }) => ({
        reason: waiting?.reason,
        minutes: Math.round(((waiting?.until?.epochMilliseconds ?? 0) - Date.now()) / 60_000),
      }))
      yield* writes.fail(yield* begin, overloaded)
      assert.deepStrictEqual(yield* waits, { reason: "retry", minutes: 3 })
      yield* writes.release(yield* begin, Duration.hours(1))
      assert.deepStrictEqual(yield* waits, { reason: "budget", minutes: 60 })
    }).pipe(Effect.provide(services(database.layer))),
  )
})
