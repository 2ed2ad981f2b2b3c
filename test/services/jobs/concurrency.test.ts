/** Concurrency keys: how many jobs with one key have begun and not ended. */
import { assert, it } from "@effect/vitest"
import { Duration, Effect, Latch } from "effect"
import { SqlClient } from "effect/sql"
import { Jobs } from "../../../src/services/jobs/Jobs.ts"
import { JobQueue } from "../../../src/services/jobs/JobQueue.ts"
import { JobWrites } from "../../../src/services/jobs/JobWrites.ts"
import { describeDatabases, postgres, postgresIsThere } from "../../support/databases.ts"
import { makeAgent, services, start, takeJob, use } from "../../support/jobs.ts"
import { completed, idsOf, makeTenant, newKey, problem, testJobs } from "./linedUp.ts"

describeDatabases("jobs with a concurrency key", (database) => {
  const test = testJobs(database)

  test(
    "begin one after another, in their order, while others go on",
    Effect.gen(function* () {
      const { claim, end, enqueue, waits } = yield* makeTenant
      const [first, second, third] = [
        yield* enqueue({ concurrency: "deploy" }),
        yield* enqueue({ concurrency: "deploy" }),
        yield* enqueue({ concurrency: "deploy" }),
      ]
      assert.deepStrictEqual(
        [first, second, third].map(({ waiting }) => waiting?.reason),
        ["worker", "concurrency", "concurrency"],
      )
      assert.deepStrictEqual(second.concurrency, { key: "deploy", limit: 1 })
      const plain = yield* enqueue()
      const elsewhere = yield* enqueue({ concurrency: "elsewhere" })
      const other = yield* makeTenant
      const theirs = yield* other.enqueue({ concurrency: "deploy" })
      assert.strictEqual(theirs.waiting?.reason, "worker")
      const leases = yield* claim
      assert.sameMembers(idsOf(leases), [first.id, plain.id, elsewhere.id])
      assert.deepStrictEqual(yield* claim, [])
      yield* end(leases.find(({ job }) => job.id === first.id))
      assert.deepStrictEqual(yield* waits([second, third]), ["worker", "concurrency"])
      const [next, none] = yield* claim
      assert.deepStrictEqual([next?.job.id, none], [second.id, undefined])
      yield* end(next)
      assert.deepStrictEqual(idsOf(yield* claim), [third.id])
    }),
  )

  test(
    "keep their place until they end: through retries, crashes and questions",
    Effect.gen(function* () {
      const { claim, enqueue, waits } = yield* makeTenant
      const writes = yield* JobWrites
      const [first, second] = [yield* enqueue({ concurrency: "deploy" }), yield* enqueue({ concurrency: "deploy" })]
      const [lease] = yield* claim
      assert.isDefined(lease)
      yield* writes.fail(lease, { problem, retryAfter: Duration.zero, isFault: false })
      const again = yield* Effect.flatMap(takeJob(first), Effect.fromOption)
      yield* writes.release(again, Duration.hours(1))
      const later = yield* Effect.flatMap(takeJob(first), Effect.fromOption)
      const asking = { kind: "ask", call: 1, turn: 1 } as const
      yield* writes.ask(later, {
        asking,
        question: "Go on?",
        answer_schema: { type: "boolean" },
        timeoutSeconds: 60,
      })
      assert.deepStrictEqual(yield* waits([second]), ["concurrency"])
      assert.deepStrictEqual(yield* claim, [])
    }),
  )

  test(
    "free their place when they are cancelled, deleted, out of time, or given up after crashes",
    Effect.gen(function* () {
      const { claim, enqueue, jobs, tenant } = yield* makeTenant
      const [queue, sql, writes] = [yield* JobQueue, yield* SqlClient.SqlClient, yield* JobWrites]
      const all = yield* Effect.forEach(Array.from({ length: 6 }), () => enqueue({ concurrency: "deploy" }))
      const running = Effect.map(claim, (leases) => {
        assert.strictEqual(leases.length, 1)
        return leases[0] ?? assert.fail()
      })
      yield* jobs.cancel(tenant, (yield* running).job.id)
      yield* jobs.remove(tenant, (yield* running).job.id)
      yield* writes.end(yield* running, { status: "timed_out", problem })
      const crashing = (yield* running).job.id
      yield* sql`UPDATE jobs SET due_at = 0, crashes = 1 WHERE id = ${crashing}`
      yield* queue.requeueAbandoned()
      assert.strictEqual((yield* jobs.get(tenant, crashing)).status, "failed")
      // A waiting job has no place to free.
      yield* jobs.cancel(tenant, all[5]?.id ?? "")
      const last = yield* running
      assert.strictEqual(last.job.id, all[4]?.id)
      // A resumed job comes after those that wait.
      const waiting = yield* enqueue({ concurrency: "deploy" })
      const resumed = yield* jobs.resume(tenant, crashing)
      assert.strictEqual(resumed.waiting?.reason, "concurrency")
      yield* writes.end(last, completed)
      const next = yield* running
      assert.strictEqual(next.job.id, waiting.id)
      yield* writes.end(next, completed)
      assert.strictEqual((yield* running).job.id, crashing)
    }),
  )

  test(
    "keep to the lowest limit of those that have begun, without passing those before them",
    Effect.gen(function* () {
      const { claim, end, enqueue } = yield* makeTenant
      const [one, two, alone, last] = [
        yield* enqueue({ concurrency: "key", limit: 2 }),
        yield* enqueue({ concurrency: "key", limit: 2 }),
        yield* enqueue({ concurrency: "key", limit: 1 }),
        yield* enqueue({ concurrency: "key", limit: 9 }),
      ]
      const leases = yield* claim
      assert.sameMembers(idsOf(leases), [one.id, two.id])
      yield* end(leases[0])
      assert.deepStrictEqual(yield* claim, [])
      yield* end(leases[1])
      const [third, none] = yield* claim
      assert.deepStrictEqual([third?.job.id, none], [alone.id, undefined])
      yield* enqueue({ concurrency: "key", limit: 9 })
      assert.deepStrictEqual(yield* claim, [])
      yield* end(third)
      assert.include(idsOf(yield* claim), last.id)
    }),
  )

  test(
    "leave the other keys of their tenant their turns",
    Effect.gen(function* () {
      const { end, enqueue, tenant } = yield* makeTenant
      const queue = yield* JobQueue
      const [many, few] = [newKey(), newKey()]
      const held = yield* Effect.forEach(Array.from({ length: 30 }), () =>
        enqueue({ concurrency: "key", limit: 2, key: many }),
      )
      yield* Effect.forEach(Array.from({ length: 10 }), () => enqueue({ key: few }))
      const order: Array<boolean> = []
      for (let turn = 0; turn < 15; turn++) {
        const lease = (yield* queue.claim(1)).find(({ job }) => job.tenant === tenant)
        order.push(held.some(({ id }) => id === lease?.job.id))
        yield* end(lease)
      }
      assert.isAtLeast(order.filter((isHeld) => !isHeld).length, 5)
      assert.isAtLeast(order.filter((isHeld) => isHeld).length, 5)
    }),
  )

  it.live("get one place when two gateways enqueue them at the same moment", () =>
    Effect.gen(function* () {
      const here = yield* database.create
      const one = (yield* start(services(here, { workersPerTenant: 1000 }))).context
      const other =
        database.kind === "sqlite" ? one : (yield* start(services(here, { workersPerTenant: 1000 }))).context
      const { agent, tenant } = yield* use(one, makeAgent())
      const keys = Array.from({ length: 300 }, (_, index) => `key-${index}`)
      yield* Effect.forEach(
        keys,
        (key) => {
          const enqueued = Jobs.use((jobs) => jobs.enqueue(tenant, agent.id, { task: "x", concurrency: { key } }))
          return Effect.all([use(one, enqueued), use(other, enqueued)], { concurrency: 2 })
        },
        { concurrency: 8 },
      )
      const leases = yield* use(
        one,
        JobQueue.use((queue) => queue.claim(1000)),
      )
      assert.strictEqual(leases.length, keys.length)
      const placed = yield* Effect.forEach(leases, ({ job }) =>
        use(
          one,
          Jobs.use((jobs) => jobs.get(tenant, job.id)),
        ),
      )
      assert.strictEqual(new Set(placed.map(({ concurrency }) => concurrency?.key)).size, keys.length)
    }).pipe(Effect.scoped),
  )
})

it.live.skipIf(!postgresIsThere)("a gateway gives places only after it sees those that another one gave", () =>
  Effect.gen(function* () {
    const { claim, enqueue, tenant } = yield* makeTenant
    const [queue, sql] = [yield* JobQueue, yield* SqlClient.SqlClient]
    const [first, second, third] = [
      yield* enqueue({ concurrency: "deploy" }),
      yield* enqueue({ concurrency: "deploy" }),
      yield* enqueue({ concurrency: "deploy" }),
    ]
    const key = `deploy ${tenant}`
    yield* sql`UPDATE jobs SET status = 'completed', finished_at = 1 WHERE id = ${first.id}`
    // Another gateway is about to give the place to the second job; the third then comes before it.
    const locked = yield* Latch.make()
    const inOtherGateway = Effect.gen(function* () {
      yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(${`concurrency:${key}`}, 0))`
      yield* sql`UPDATE jobs SET held_back = 0 WHERE id = ${second.id}`
      yield* locked.open
      yield* Effect.sleep("300 millis")
    }).pipe(sql.withTransaction)
    const here = Effect.gen(function* () {
      yield* locked.await
      yield* sql`UPDATE jobs SET due_at = 0 WHERE id = ${third.id}`
      yield* queue.admit({ concurrency_key: key, key_id: null, key_limit: null })
    })
    yield* Effect.all([inOtherGateway, here], { concurrency: 2 })
    assert.deepStrictEqual(idsOf(yield* claim), [second.id])
  }).pipe(Effect.provide(services(postgres.layer))),
)
