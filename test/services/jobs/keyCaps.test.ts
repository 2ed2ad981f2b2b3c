/** Caps on the jobs of a caller's key that have begun and not ended. */
import { assert, it, layer } from "@effect/vitest"
import { Duration, Effect, Fiber, Latch, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { KeyId } from "../../../src/domain/access/keys.ts"
import type { TenantId } from "../../../src/domain/jobs/agent.ts"
import { isEnded, type Job } from "../../../src/domain/jobs/job.ts"
import { GatewayKeys } from "../../../src/services/access/GatewayKeys.ts"
import { JobQueue } from "../../../src/services/jobs/JobQueue.ts"
import { Jobs } from "../../../src/services/jobs/Jobs.ts"
import { JobWrites } from "../../../src/services/jobs/JobWrites.ts"
import type { Lease } from "../../../src/services/jobs/Lease.ts"
import { describeDatabases, postgres, postgresIsThere } from "../../support/databases.ts"
import { answer, ended, gateway, makeAgent, services, start, takeJob, use } from "../../support/jobs.ts"
import { completed, idsOf, makeWorkedTenant, problem, testJobs } from "./linedUp.ts"

const newKey = () => KeyId.make(SecureRandom.uuidV7Unsafe())

interface Wanted {
  readonly key: KeyId
  readonly cap?: number
  readonly concurrency?: string
  readonly priority?: Job["priority"]
}

/** Changes the cap of a key, and applies it to open jobs. */
const setCap = Effect.fnUntraced(function* (tenant: TenantId, key: KeyId, limit: number | null) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO gateway_keys (id, tenant, hash, document, max_running_jobs)
    VALUES (${key}, ${tenant}, ${key}, '{}', ${limit}) ON CONFLICT (id) DO UPDATE SET max_running_jobs = ${limit}`
  yield* (yield* JobQueue).cap(tenant, key)
})

/** A new tenant, and what it does with its jobs. */
const makeTenant = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const worked = yield* makeWorkedTenant
  const { agent, jobs, tenant } = worked
  return {
    ...worked,
    enqueue: ({ cap, concurrency, key, priority = "normal" }: Wanted) =>
      jobs.enqueue(
        tenant,
        agent.id,
        { task: "x", priority, ...(concurrency === undefined ? {} : { concurrency: { key: concurrency } }) },
        undefined,
        { id: key, ...(cap === undefined ? {} : { maxRunningJobs: cap }) },
      ),
    cap: (key: KeyId, limit: number | null) =>
      Effect.provideService(
        Effect.provideService(setCap(tenant, key, limit), JobQueue, worked.queue),
        SqlClient.SqlClient,
        sql,
      ),
    waits: (made: ReadonlyArray<Job>) =>
      Effect.forEach(made, ({ id }) => Effect.map(jobs.get(tenant, id), ({ waiting }) => waiting?.reason)),
  }
})

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
      const low = yield* enqueue({ key, cap: 1, priority: "low" })
      const high = yield* enqueue({ key, cap: 1, priority: "high" })
      yield* Effect.flatMap(claim, ([lease]) => end(lease))
      const [second] = yield* claim
      assert.strictEqual(second?.job.id, high.id)
      yield* end(second)
      assert.deepStrictEqual(idsOf(yield* claim), [low.id])
    }),
  )

  test(
    "keep their place through retries and questions, and free it when they are cancelled or deleted",
    Effect.gen(function* () {
      const { claim, enqueue, jobs, tenant, waits } = yield* makeTenant
      const writes = yield* JobWrites
      const key = newKey()
      const made = yield* Effect.forEach(times(3), () => enqueue({ key, cap: 1 }))
      const [first, second, third] = made
      assert.isDefined(first)
      assert.isDefined(second)
      const [lease] = yield* claim
      assert.isDefined(lease)
      yield* writes.fail(lease, { problem, retryAfter: Duration.zero, isFault: false })
      const again = yield* Effect.flatMap(takeJob(first), Effect.fromOption)
      yield* writes.ask(again, {
        asking: { kind: "ask", call: 1, turn: 1 },
        question: "Go on?",
        answer_schema: { type: "boolean" },
        timeoutSeconds: 60,
      })
      assert.deepStrictEqual(yield* waits(made), [undefined, "key-limit", "key-limit"])
      yield* jobs.cancel(tenant, first.id)
      assert.deepStrictEqual(yield* waits(made.slice(1)), ["worker", "key-limit"])
      yield* jobs.remove(tenant, second.id)
      assert.deepStrictEqual(idsOf(yield* claim), [third?.id])
    }),
  )

  test(
    "get the place of a job whose process died before it could pass it on",
    Effect.gen(function* () {
      const { claim, enqueue } = yield* makeTenant
      const [queue, sql] = [yield* JobQueue, yield* SqlClient.SqlClient]
      const key = newKey()
      const [first, second] = [yield* enqueue({ key, cap: 1 }), yield* enqueue({ key, cap: 1 })]
      yield* claim
      yield* sql`UPDATE jobs SET status = 'completed', finished_at = 1 WHERE id = ${first.id}`
      assert.deepStrictEqual(yield* claim, [])
      yield* queue.takeBack([first.id])
      assert.deepStrictEqual(idsOf(yield* claim), [second.id])
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

  it.live("never exceed the cap over three gateways while it changes, and all end", () =>
    Effect.gen(function* () {
      const here = yield* database.create
      let [running, most, isLowered] = [0, 0, false]
      const program = Effect.fnUntraced(function* () {
        running++
        if (isLowered) most = Math.max(most, running)
        yield* Effect.sleep("5 millis")
        running--
        return answer("done")
      })
      // SQLite serves one process.
      const count = database.kind === "sqlite" ? 1 : 3
      const gateways = yield* Effect.forEach(times(count), () => start(gateway(here, program)))
      const contexts = gateways.map(({ context }) => context)
      const [context] = contexts
      assert.isDefined(context)
      const { agent, tenant } = yield* use(context, makeAgent())
      const key = newKey()
      const enqueue = (index: number, cap?: number) =>
        use(
          contexts[index % count] ?? context,
          Effect.flatMap(Jobs, (jobs) =>
            jobs.enqueue(tenant, agent.id, { task: "x" }, undefined, {
              id: key,
              ...(cap === undefined ? {} : { maxRunningJobs: cap }),
            }),
          ),
        )
      const indexes = times(30).map((_, index) => index)
      const uncapped = yield* Effect.forEach(indexes, (index) => enqueue(index), { concurrency: "unbounded" })
      yield* use(context, setCap(tenant, key, 2))
      const [begun] = [running]
      isLowered = true
      const capped = yield* Effect.forEach(indexes, (index) => enqueue(index, 2), { concurrency: "unbounded" })
      const all = yield* Effect.forEach([...uncapped, ...capped], (job) => use(context, ended(tenant, job)), {
        concurrency: "unbounded",
      })
      assert.deepStrictEqual([...new Set(all.map(({ status }) => status))], ["completed"])
      assert.isAtMost(most, Math.max(2, begun))
    }).pipe(Effect.scoped),
  )
})

it.live.skipIf(!postgresIsThere)("a change of the cap waits for the places that another gateway gives", () =>
  Effect.gen(function* () {
    const { cap, claim, enqueue, waits } = yield* makeTenant
    const sql = yield* SqlClient.SqlClient
    const key = newKey()
    yield* enqueue({ key, cap: 2 })
    yield* claim
    const [second, third] = [yield* enqueue({ key, cap: 2 }), yield* enqueue({ key, cap: 2 })]
    const inOtherGateway = Effect.gen(function* () {
      yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(${`concurrency:${key}`}, 0))`
      yield* Effect.sleep("300 millis")
      yield* sql`UPDATE jobs SET held_back = 0 WHERE id = ${third.id}`
    }).pipe(sql.withTransaction)
    yield* Effect.all([inOtherGateway, Effect.delay(cap(key, 1), "100 millis")], { concurrency: 2 })
    assert.deepStrictEqual(yield* waits([second, third]), ["key-limit", "key-limit"])
  }).pipe(Effect.provide(services(postgres.layer))),
)

it.live.skipIf(!postgresIsThere)("jobs of a key hold one connection while another gateway gives places of it", () =>
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

const Operation = Schema.Struct({
  op: Schema.Literals(["enqueue", "enqueue", "enqueue", "claim", "end", "retry", "cancel", "remove", "cap"]),
  concurrency: Schema.Literals(["a", "none"]),
  which: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 99 })),
})

describeDatabases("caps of keys under any order of operations", (database) => {
  layer(services(database.layer, { workersPerTenant: 1000, maxCrashes: 1000, innocentCrashes: 1000 }))((it) => {
    it.effect.prop(
      "are used up and not exceeded by jobs that begin, also by those with a concurrency key",
      [Schema.Array(Operation).check(Schema.isBetweenLength(10, 40))],
      ([operations]) =>
        Effect.gen(function* () {
          const { cap, claim, enqueue, jobs, tenant } = yield* makeTenant
          const writes = yield* JobWrites
          const key = newKey()
          let most = 2
          const leases = new Map<string, Lease>()
          const list = Effect.map(jobs.list(tenant, {}, { limit: 100 }), ({ items }) => items)
          for (const { concurrency, op, which } of operations) {
            const items = yield* list
            const held = items.filter((job) => job.status === "running" && leases.has(job.id))
            const lease = leases.get(held[which % Math.max(1, held.length)]?.id ?? "")
            const any = items[which % Math.max(1, items.length)]
            const before = items.filter(hasPlace).length
            if (op === "enqueue") {
              yield* enqueue({ key, cap: most, ...(concurrency === "none" ? {} : { concurrency }) })
            } else if (op === "claim") {
              for (const taken of yield* claim) leases.set(taken.job.id, taken)
            } else if (op === "end" && lease !== undefined) {
              const ending = which % 2 === 0 ? completed : ({ status: "failed", problem } as const)
              yield* writes.end(lease, ending)
            } else if (op === "retry" && lease !== undefined) {
              yield* writes.fail(lease, { problem, retryAfter: Duration.zero, isFault: false })
            } else if (op === "cancel" && any !== undefined) {
              yield* jobs.cancel(tenant, any.id)
            } else if (op === "remove" && any !== undefined) {
              yield* jobs.remove(tenant, any.id)
            } else if (op === "cap") {
              most = 1 + (which % 4)
              yield* cap(key, most)
            }
            const open = (yield* list).filter(({ status }) => !isEnded(status))
            const placed = open.filter(hasPlace).length
            const willing = open.filter(({ waiting }) => waiting?.reason !== "concurrency").length
            // Those that had begun before a cap was lowered go on.
            const expected = Math.min(most, willing)
            assert.isTrue(placed === expected || (placed > expected && placed <= before), `${op}: ${placed}`)
            const withKey = open.filter((job) => job.concurrency !== undefined)
            assert.strictEqual(
              withKey.filter(({ waiting }) => waiting?.reason !== "concurrency").length,
              Math.min(1, withKey.length),
            )
          }
        }),
      { arbitrary: { runs: 25 } },
    )
  })
})

const hasPlace = ({ status, waiting }: Job): boolean =>
  !isEnded(status) && waiting?.reason !== "key-limit" && waiting?.reason !== "concurrency"
