/** Caps on the jobs of a caller's key that have begun and not ended. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Latch, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { GatewayKeys } from "../../../src/services/access/GatewayKeys.ts"
import { JobQueue } from "../../../src/services/jobs/JobQueue.ts"
import { JobWrites } from "../../../src/services/jobs/JobWrites.ts"
import { describeDatabases, postgres, postgresIsThere } from "../../support/databases.ts"
import { services } from "../../support/jobs.ts"
import { idsOf, makeTenant, newKey, problem, testJobs } from "./linedUp.ts"

const times = (count: number) => Array.from({ length: count })

describeDatabases("jobs of a key with a cap", (database) => {
  const test = testJobs(database)

  test(
    "begin as others of the key end, and say that they wait for it, while other keys go on",
    Effect.gen(function* () {
      const { claim, end, enqueue, waits } = yield* makeTenant
      const [key, other] = [newKey(), newKey()]
      const made = yield* Effect.forEach(times(4), () => enqueue({ key, cap: 2 }))
      assert.deepStrictEqual(
        made.map(({ waiting }) => waiting?.reason),
        ["worker", "worker", "key-limit", "key-limit"],
      )
      const theirs = yield* Effect.forEach(times(3), () => enqueue({ key: other }))
      const leases = yield* claim
      assert.sameMembers(
        idsOf(leases),
        [...made.slice(0, 2), ...theirs].map(({ id }) => id),
      )
      yield* end(leases.find(({ job }) => job.id === made[1]?.id))
      assert.deepStrictEqual(yield* waits(made.slice(2)), ["worker", "key-limit"])
      assert.deepStrictEqual(idsOf(yield* claim), [made[2]?.id])
    }),
  )

  test(
    "obey the cap that the key has now, not the one that their caller was identified with",
    Effect.gen(function* () {
      const { cap, claim, enqueue, waits } = yield* makeTenant
      const key = newKey()
      yield* cap(key, 3)
      yield* enqueue({ key, cap: 1 })
      yield* claim
      const late = yield* Effect.forEach([1, undefined, 3], (old) =>
        enqueue({ key, ...(old === undefined ? {} : { cap: old }) }),
      )
      assert.deepStrictEqual(yield* waits(late), ["worker", "worker", "key-limit"])
    }),
  )

  test(
    "begin in the order of their priority",
    Effect.gen(function* () {
      const { claim, end, enqueue } = yield* makeTenant
      const key = newKey()
      yield* enqueue({ key, cap: 1 })
      const low = yield* enqueue({ key, cap: 1 }, { priority: "low" })
      const high = yield* enqueue({ key, cap: 1 }, { priority: "high" })
      yield* Effect.flatMap(claim, ([lease]) => end(lease))
      const [second] = yield* claim
      assert.strictEqual(second?.job.id, high.id)
      yield* end(second)
      assert.deepStrictEqual(idsOf(yield* claim), [low.id])
    }),
  )

  test(
    "wait for their concurrency key first, and keep its place while they wait for their own",
    Effect.gen(function* () {
      const { claim, end, enqueue, waits } = yield* makeTenant
      const [key, other] = [newKey(), newKey()]
      const running = yield* enqueue({ key, cap: 1 })
      const both = yield* enqueue({ key, cap: 1, concurrency: "deploy" })
      const behind = yield* enqueue({ key: other, concurrency: "deploy" })
      const made = [running, both, behind]
      assert.deepStrictEqual(yield* waits(made), ["worker", "key-limit", "concurrency"])
      yield* Effect.flatMap(claim, ([lease]) => end(lease))
      assert.deepStrictEqual(yield* waits(made), [undefined, "worker", "concurrency"])
      const [lease] = yield* claim
      assert.strictEqual(lease?.job.id, both.id)
      yield* end(lease)
      assert.deepStrictEqual(idsOf(yield* claim), [behind.id])
    }),
  )

  test(
    "follow a change of the cap: a first one, a lower one, a higher one, and none",
    Effect.gen(function* () {
      const { cap, claim, end, enqueue, waits } = yield* makeTenant
      const [key, other] = [newKey(), newKey()]
      const begun = yield* Effect.forEach(times(2), () => enqueue({ key }))
      const leases = yield* claim
      const made = yield* Effect.forEach(times(6), () => enqueue({ key }))
      const theirs = yield* enqueue({ key: other })
      const count = Effect.map(waits(made), (reasons) => reasons.filter((reason) => reason === "key-limit").length)
      yield* cap(key, 3)
      assert.strictEqual(yield* count, 5)
      yield* cap(key, 1)
      assert.strictEqual(yield* count, 6)
      assert.deepStrictEqual(yield* waits([...begun, theirs]), [undefined, undefined, "worker"])
      yield* end(leases[0])
      assert.strictEqual(yield* count, 6)
      yield* end(leases[1])
      assert.strictEqual(yield* count, 5)
      yield* cap(key, 4)
      assert.strictEqual(yield* count, 2)
      yield* cap(key, null)
      assert.deepStrictEqual(yield* waits(made), ["worker", "worker", "worker", "worker", "worker", "worker"])
      assert.strictEqual((yield* claim).length, 7)
    }),
  )

  test(
    "all begin when a cap rises by hundreds",
    Effect.gen(function* () {
      const { cap, claim, enqueue } = yield* makeTenant
      const key = newKey()
      yield* Effect.forEach(times(250), () => enqueue({ key, cap: 1 }), { concurrency: 10 })
      yield* cap(key, 240)
      assert.strictEqual((yield* claim).length, 240)
    }),
  )

  it.live("wait by the key's cap of now when they are resumed", () =>
    Effect.gen(function* () {
      const { agent, claim, end, jobs, tenant } = yield* makeTenant
      const [keys, queue, writes] = [yield* GatewayKeys, yield* JobQueue, yield* JobWrites]
      // Postgres cannot read every text of a document as JSON's.
      const models = { allow: ["\u0000x", "\ud800"] }
      const { id } = yield* keys.create(tenant, "tester", { name: "ci", roles: ["run"], models })
      const enqueue = (cap?: number) =>
        jobs.enqueue(tenant, agent.id, { task: "x" }, undefined, {
          id,
          ...(cap === undefined ? {} : { maxRunningJobs: cap }),
        })
      const failed = yield* enqueue()
      yield* Effect.flatMap(claim, (leases) =>
        Effect.forEach(leases, (lease) => writes.end(lease, { status: "failed", problem })),
      )
      yield* keys.update(tenant, id, { max_running_jobs: 1 }, () => Effect.void)
      yield* queue.cap(tenant, id)
      yield* enqueue(1)
      const [running] = yield* claim
      assert.strictEqual((yield* jobs.resume(tenant, failed.id)).waiting?.reason, "key-limit")
      yield* end(running)
      const [resumed] = yield* claim
      assert.strictEqual(resumed?.job.id, failed.id)
      assert.isDefined(resumed)
      yield* writes.end(resumed, { status: "failed", problem })
      yield* keys.update(tenant, id, { max_running_jobs: null }, () => Effect.void)
      yield* queue.cap(tenant, id)
      yield* enqueue()
      assert.strictEqual((yield* jobs.resume(tenant, failed.id)).waiting?.reason, "worker")
    }).pipe(
      Effect.provide(Layer.provideMerge(GatewayKeys.layer, services(database.layer, { workersPerTenant: 1000 }))),
    ),
  )
})

it.live.skipIf(!postgresIsThere)("a change of the cap waits while another gateway gives places", () =>
  Effect.gen(function* () {
    const { cap, claim, enqueue, waits } = yield* makeTenant
    const sql = yield* SqlClient.SqlClient
    const key = newKey()
    yield* enqueue({ key, cap: 2 })
    yield* claim
    const [second, third] = [yield* enqueue({ key, cap: 2 }), yield* enqueue({ key, cap: 2 })]
    const locked = yield* Latch.make()
    const inOtherGateway = Effect.gen(function* () {
      yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(${`concurrency:${key}`}, 0))`
      yield* locked.open
      yield* Effect.sleep("300 millis")
      yield* sql`UPDATE jobs SET held_back = 0 WHERE id = ${third.id}`
    }).pipe(sql.withTransaction)
    yield* Effect.all([inOtherGateway, Effect.andThen(locked.await, cap(key, 1))], { concurrency: 2 })
    assert.deepStrictEqual(yield* waits([second, third]), ["key-limit", "key-limit"])
  }).pipe(Effect.provide(services(postgres.layer))),
)

it.live.skipIf(!postgresIsThere)("jobs of a key use one connection while another gateway gives places of the key", () =>
  Effect.gen(function* () {
    const { enqueue } = yield* makeTenant
    const sql = yield* SqlClient.SqlClient
    const key = newKey()
    const [locked, goOn] = [yield* Latch.make(), yield* Latch.make()]
    const inOtherGateway = Effect.gen(function* () {
      yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(${`concurrency:${key}`}, 0))`
      yield* locked.open
      yield* goOn.await
    }).pipe(sql.withTransaction)
    const other = yield* Effect.forkChild(inOtherGateway)
    yield* locked.await
    const enqueued = yield* Effect.forEach(times(20), () => Effect.forkChild(enqueue({ key, cap: 1 })))
    // Until all are on disk. Each waits for places then.
    yield* Effect.repeat(sql<{ jobs: number }>`SELECT COUNT(*)::int AS jobs FROM jobs WHERE key_id = ${key}`, {
      until: ([row]) => row?.jobs === 20,
    })
    yield* sql`SELECT 1`
    assert.isTrue(enqueued.every((fiber) => fiber.pollUnsafe() === undefined))
    yield* goOn.open
    yield* Fiber.join(other)
    const jobs = yield* Effect.forEach(enqueued, Fiber.join)
    assert.strictEqual(jobs.filter(({ waiting }) => waiting?.reason === "worker").length, 1)
  }).pipe(Effect.provide(services(postgres.layer))),
)
