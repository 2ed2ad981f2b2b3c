/** Concurrency keys: how many jobs with one key have begun and not ended. */
import { assert, it, layer } from "@effect/vitest"
import { Duration, Effect, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { KeyId } from "../../../src/domain/access/keys.ts"
import { isEnded, type Job } from "../../../src/domain/jobs/job.ts"
import { Jobs } from "../../../src/services/jobs/Jobs.ts"
import { JobQueue } from "../../../src/services/jobs/JobQueue.ts"
import { JobWrites } from "../../../src/services/jobs/JobWrites.ts"
import type { Lease } from "../../../src/services/jobs/Lease.ts"
import { describeDatabases, postgres, postgresIsThere } from "../../support/databases.ts"
import { answer, ended, gateway, makeAgent, services, start, takeJob, use } from "../../support/jobs.ts"
import { completed, idsOf, makeWorkedTenant, problem, testJobs } from "./linedUp.ts"

/** A new tenant, and what it does with its jobs. */
const makeTenant = Effect.gen(function* () {
  const worked = yield* makeWorkedTenant
  const { agent, jobs, tenant } = worked
  const enqueue = (key?: string, limit?: number, by?: KeyId) =>
    jobs.enqueue(
      tenant,
      agent.id,
      { task: "x", ...(key === undefined ? {} : { concurrency: { key, ...(limit === undefined ? {} : { limit }) } }) },
      undefined,
      by === undefined ? undefined : { id: by },
    )
  return {
    ...worked,
    enqueue,
    waits: (job: Job) => Effect.map(jobs.get(tenant, job.id), ({ waiting }) => waiting?.reason),
  }
})

describeDatabases("jobs with a concurrency key", (database) => {
  const test = testJobs(database)

  test(
    "begin one after another, in their order, while others go on",
    Effect.gen(function* () {
      const { claim, end, enqueue, waits } = yield* makeTenant
      const [first, second, third] = [yield* enqueue("deploy"), yield* enqueue("deploy"), yield* enqueue("deploy")]
      assert.deepStrictEqual(
        [first, second, third].map(({ waiting }) => waiting?.reason),
        ["worker", "concurrency", "concurrency"],
      )
      assert.deepStrictEqual(second.concurrency, { key: "deploy", limit: 1 })
      const plain = yield* enqueue()
      const elsewhere = yield* enqueue("elsewhere")
      const other = yield* makeTenant
      const theirs = yield* other.enqueue("deploy")
      assert.strictEqual(theirs.waiting?.reason, "worker")
      const leases = yield* claim
      assert.sameMembers(idsOf(leases), [first.id, plain.id, elsewhere.id])
      assert.deepStrictEqual(yield* claim, [])
      yield* end(leases.find(({ job }) => job.id === first.id))
      assert.deepStrictEqual([yield* waits(second), yield* waits(third)], ["worker", "concurrency"])
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
      const [first, second] = [yield* enqueue("deploy"), yield* enqueue("deploy")]
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
      assert.strictEqual(yield* waits(second), "concurrency")
      assert.deepStrictEqual(yield* claim, [])
    }),
  )

  test(
    "free their place when they are cancelled, deleted, out of time, or given up after crashes",
    Effect.gen(function* () {
      const { claim, enqueue, jobs, tenant } = yield* makeTenant
      const [queue, sql, writes] = [yield* JobQueue, yield* SqlClient.SqlClient, yield* JobWrites]
      const all = yield* Effect.forEach(Array.from({ length: 6 }), () => enqueue("deploy"))
      const running = Effect.map(claim, (leases) => {
        assert.strictEqual(leases.length, 1)
        return leases[0] ?? assert.fail()
      })
      yield* jobs.cancel(tenant, (yield* running).job.id)
      yield* jobs.remove(tenant, (yield* running).job.id)
      yield* writes.end(yield* running, { status: "timed_out", problem })
      const crashing = (yield* running).job.id
      yield* sql`UPDATE jobs SET due_at = 0, crashes = 1 WHERE id = ${crashing}`
      yield* queue.takeBack()
      assert.strictEqual((yield* jobs.get(tenant, crashing)).status, "failed")
      // One that waits has no place to free.
      yield* jobs.cancel(tenant, all[5]?.id ?? "")
      const last = yield* running
      assert.strictEqual(last.job.id, all[4]?.id)
      // A resumed job comes after those that wait.
      const waiting = yield* enqueue("deploy")
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
    "get the place of a job whose process died before it could pass it on",
    Effect.gen(function* () {
      const { claim, enqueue } = yield* makeTenant
      const [queue, sql] = [yield* JobQueue, yield* SqlClient.SqlClient]
      const keys = ["a", "b", "c"]
      const first = yield* Effect.forEach(keys, (key) => enqueue(key))
      const second = yield* Effect.forEach(keys, (key) => enqueue(key))
      yield* claim
      yield* sql`UPDATE jobs SET status = 'completed', finished_at = 1
        WHERE id IN ${sql.in([first[0]?.id, first[2]?.id])}`
      assert.deepStrictEqual(yield* claim, [])
      yield* queue.takeBack(first.map(({ id }) => id))
      assert.sameMembers(idsOf(yield* claim), [second[0]?.id, second[2]?.id])
    }),
  )

  test(
    "keep to the least limit of those that have begun, without passing those before them",
    Effect.gen(function* () {
      const { claim, end, enqueue } = yield* makeTenant
      const [one, two, alone, last] = [
        yield* enqueue("key", 2),
        yield* enqueue("key", 2),
        yield* enqueue("key", 1),
        yield* enqueue("key", 9),
      ]
      const leases = yield* claim
      assert.sameMembers(idsOf(leases), [one.id, two.id])
      yield* end(leases[0])
      assert.deepStrictEqual(yield* claim, [])
      yield* end(leases[1])
      const [third, none] = yield* claim
      assert.deepStrictEqual([third?.job.id, none], [alone.id, undefined])
      yield* enqueue("key", 9)
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
      const [many, few] = [KeyId.make(SecureRandom.uuidV7Unsafe()), KeyId.make(SecureRandom.uuidV7Unsafe())]
      const held = yield* Effect.forEach(Array.from({ length: 30 }), () => enqueue("key", 2, many))
      yield* Effect.forEach(Array.from({ length: 10 }), () => enqueue(undefined, undefined, few))
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
          const enqueued = Effect.flatMap(Jobs, (jobs) =>
            jobs.enqueue(tenant, agent.id, { task: "x", concurrency: { key } }),
          )
          return Effect.all([use(one, enqueued), use(other, enqueued)], { concurrency: 2 })
        },
        { concurrency: 8 },
      )
      const leases = yield* use(
        one,
        Effect.flatMap(JobQueue, (queue) => queue.claim(1000)),
      )
      assert.strictEqual(leases.length, keys.length)
      const placed = yield* Effect.forEach(leases, ({ job }) =>
        use(
          one,
          Effect.flatMap(Jobs, (jobs) => jobs.get(tenant, job.id)),
        ),
      )
      assert.strictEqual(new Set(placed.map(({ concurrency }) => concurrency?.key)).size, keys.length)
    }).pipe(Effect.scoped),
  )

  it.live("never exceed the limit over three gateways, and all end", () =>
    Effect.gen(function* () {
      const here = yield* database.create
      let [running, most] = [0, 0]
      const program = Effect.fnUntraced(function* ({ task }: { readonly task: unknown }) {
        const counts = task === "x"
        if (counts) most = Math.max(most, ++running)
        yield* Effect.sleep("5 millis")
        if (counts) running--
        return answer("done")
      })
      // SQLite serves one process.
      const count = database.kind === "sqlite" ? 1 : 3
      const gateways = yield* Effect.forEach(Array.from({ length: count }), () => start(gateway(here, program)))
      const contexts = gateways.map(({ context }) => context)
      const [context] = contexts
      assert.isDefined(context)
      const tenant = yield* use(context, makeAgent())
      const made = yield* Effect.forEach(
        Array.from({ length: 60 }, (_, index) => index),
        (index) =>
          Effect.map(Jobs, (jobs) =>
            index % 6 === 5
              ? jobs.enqueue(tenant.tenant, tenant.agent.id, { task: "plain" })
              : jobs.enqueue(tenant.tenant, tenant.agent.id, { task: "x", concurrency: { key: "deploy", limit: 2 } }),
          ).pipe(Effect.flatten, (enqueued) => use(contexts[index % count] ?? context, enqueued)),
        { concurrency: "unbounded" },
      )
      const all = yield* Effect.forEach(made, (job) => use(context, ended(tenant.tenant, job)), {
        concurrency: "unbounded",
      })
      assert.deepStrictEqual([...new Set(all.map(({ status }) => status))], ["completed"])
      assert.strictEqual(most, 2)
    }).pipe(Effect.scoped),
  )
})

it.live.skipIf(!postgresIsThere)("a gateway gives places only after it sees those that another one gave", () =>
  Effect.gen(function* () {
    const { claim, enqueue, tenant } = yield* makeTenant
    const [queue, sql] = [yield* JobQueue, yield* SqlClient.SqlClient]
    const [first, second, third] = [yield* enqueue("deploy"), yield* enqueue("deploy"), yield* enqueue("deploy")]
    const key = `deploy ${tenant}`
    yield* sql`UPDATE jobs SET status = 'completed', finished_at = 1 WHERE id = ${first.id}`
    // Another gateway is about to give the place to the second job; the third then comes before it.
    const inOtherGateway = Effect.gen(function* () {
      yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(${`concurrency:${key}`}, 0))`
      yield* sql`UPDATE jobs SET held_back = 0 WHERE id = ${second.id}`
      yield* Effect.sleep("300 millis")
    }).pipe(sql.withTransaction)
    const here = Effect.gen(function* () {
      yield* Effect.sleep("100 millis")
      yield* sql`UPDATE jobs SET due_at = 0 WHERE id = ${third.id}`
      yield* queue.admit({ concurrency_key: key, key_id: null, key_limit: null })
    })
    yield* Effect.all([inOtherGateway, here], { concurrency: 2 })
    assert.deepStrictEqual(idsOf(yield* claim), [second.id])
  }).pipe(Effect.provide(services(postgres.layer))),
)

const Operation = Schema.Struct({
  op: Schema.Literals([
    "enqueue",
    "enqueue",
    "claim",
    "claim",
    "end",
    "fail",
    "retry",
    "crash",
    "cancel",
    "remove",
    "resume",
  ]),
  key: Schema.Literals(["a", "b", "none"]),
  which: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 99 })),
})
const LIMITS = { a: 1, b: 3, none: Infinity }

describeDatabases("concurrency keys under any order of operations", (database) => {
  layer(services(database.layer, { workersPerTenant: 1000, maxCrashes: 1000, innocentCrashes: 1000 }))((it) => {
    it.effect.prop(
      "are used up to their limits and not beyond, in the order in which jobs came",
      [Schema.Array(Operation).check(Schema.isBetweenLength(10, 60))],
      ([operations]) =>
        Effect.gen(function* () {
          const { claim, enqueue, jobs, tenant } = yield* makeTenant
          const [queue, sql, writes] = [yield* JobQueue, yield* SqlClient.SqlClient, yield* JobWrites]
          /** The open jobs of each key in the order in which they came, and whether they have to have a place. */
          const lines: Record<string, Array<string>> = { a: [], b: [], none: [] }
          const leases = new Map<string, Lease>()
          for (const { key, op, which } of operations) {
            yield* TestClock.adjust("1 milli")
            const line = lines[key] ?? []
            const { items } = yield* jobs.list(tenant, {}, { limit: 100 })
            const own = items.filter((job) => (job.concurrency?.key ?? "none") === key)
            const held = own.filter((job) => job.status === "running" && leases.has(job.id))
            const lease = leases.get(held[which % Math.max(1, held.length)]?.id ?? "")
            const any = own[which % Math.max(1, own.length)]
            const leave = (id: string) => void line.splice(line.indexOf(id), line.includes(id) ? 1 : 0)
            if (op === "enqueue") {
              line.push((yield* key === "none" ? enqueue() : enqueue(key, LIMITS[key])).id)
            } else if (op === "claim") {
              for (const taken of yield* claim) leases.set(taken.job.id, taken)
            } else if ((op === "end" || op === "fail") && lease !== undefined) {
              yield* writes.end(lease, op === "end" ? completed : { status: "failed", problem })
              leave(lease.job.id)
            } else if (op === "retry" && lease !== undefined) {
              yield* writes.fail(lease, { problem, retryAfter: Duration.zero, isFault: false })
            } else if (op === "crash" && lease !== undefined) {
              yield* sql`UPDATE jobs SET due_at = 0 WHERE id = ${lease.job.id}`
              yield* queue.takeBack()
            } else if (op === "cancel" && any !== undefined) {
              yield* jobs.cancel(tenant, any.id)
              leave(any.id)
            } else if (op === "remove" && any !== undefined) {
              yield* jobs.remove(tenant, any.id)
              leave(any.id)
            } else if (op === "resume" && any?.status === "failed") {
              yield* jobs.resume(tenant, any.id)
              line.push(any.id)
            }
            const open = (yield* jobs.list(tenant, {}, { limit: 100 })).items.filter(({ status }) => !isEnded(status))
            for (const [name, ids] of Object.entries(lines)) {
              const placed = open.filter(
                (job) => (job.concurrency?.key ?? "none") === name && job.waiting?.reason !== "concurrency",
              )
              const expected = ids.slice(0, name === "a" ? LIMITS.a : name === "b" ? LIMITS.b : Infinity)
              assert.sameMembers(
                placed.map(({ id }) => String(id)),
                expected,
                `${op} ${key}`,
              )
            }
          }
        }),
      { arbitrary: { runs: 60 } },
    )
  })
})
