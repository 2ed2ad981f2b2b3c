/** How tenants share the workers of a process. */
import { assert, it } from "@effect/vitest"
import { Duration, Effect, Latch } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { KeyId } from "../../../src/domain/access/keys.ts"
import type { Agent, TenantId } from "../../../src/domain/jobs/agent.ts"
import type { JobPriority } from "../../../src/domain/jobs/job.ts"
import type { Agents } from "../../../src/services/agents/Agents.ts"
import { Jobs } from "../../../src/services/jobs/Jobs.ts"
import { JobQueue } from "../../../src/services/jobs/JobQueue.ts"
import type { Lease } from "../../../src/services/jobs/Lease.ts"
import { describeDatabases } from "../../support/databases.ts"
import { answer, ended, enqueueOne, gateway, makeAgent, services, start, use } from "../../support/jobs.ts"

/** A new tenant with so many jobs that wait, oldest first. */
const tenantWith = Effect.fnUntraced(function* (count: number) {
  const { agent, tenant } = yield* makeAgent()
  const jobs = yield* Jobs
  const sql = yield* SqlClient.SqlClient
  const ids = yield* Effect.forEach(Array.from({ length: count }), (_, index) =>
    Effect.gen(function* () {
      const { id } = yield* jobs.enqueue(tenant, agent.id, { task: "x" })
      yield* sql`UPDATE jobs SET due_at = ${index} WHERE id = ${id}`
      return id
    }),
  )
  return { tenant, ids }
})

/** How many of these jobs each tenant has. */
const shares = (leases: ReadonlyArray<Lease>, ...tenants: ReadonlyArray<{ readonly tenant: TenantId }>) =>
  tenants.map(({ tenant }) => leases.filter(({ job }) => job.tenant === tenant).length)

interface Enqueued {
  readonly key?: { readonly id: KeyId; readonly weight?: number }
  readonly priority?: JobPriority
}

/** Enqueues so many jobs of a tenant, one after another or at once, and returns their ids. */
const enqueueAll = Effect.fnUntraced(function* (
  { agent, tenant }: { readonly agent: Agent; readonly tenant: TenantId },
  count: number,
  { key, priority }: Enqueued,
  concurrency: "unbounded" | 1 = 1,
) {
  const jobs = yield* Jobs
  const request = { task: "x", ...(priority === undefined ? {} : { priority }) }
  const made = yield* Effect.forEach(
    Array.from({ length: count }),
    () => jobs.enqueue(tenant, agent.id, request, undefined, key),
    { concurrency },
  )
  return made.map(({ id }) => id)
})

const newKey = (weight?: number) => ({
  id: KeyId.make(SecureRandom.uuidV7Unsafe()),
  ...(weight === undefined ? {} : { weight }),
})

/** How many of these groups' jobs the claim took. */
const taken = (leases: ReadonlyArray<Lease>, ...groups: ReadonlyArray<ReadonlyArray<string>>) =>
  groups.map((ids) => leases.filter(({ job }) => ids.includes(job.id)).length)

describeDatabases("keys of a tenant", (database) => {
  const test = <E>(name: string, body: Effect.Effect<void, E, Jobs | JobQueue | Agents | SqlClient.SqlClient>) =>
    it.live(name, () => Effect.provide(body, services(database.layer, { workersPerTenant: 100 })))

  test(
    "take turns, however many jobs each has, with all callers that have tokens as one of them",
    Effect.gen(function* () {
      const queue = yield* JobQueue
      const tenant = yield* makeAgent()
      const many = yield* enqueueAll(tenant, 20, { key: newKey() }, "unbounded")
      const few = yield* enqueueAll(tenant, 2, { key: newKey() })
      const tokens = yield* enqueueAll(tenant, 3, {})
      assert.deepStrictEqual(taken(yield* queue.claim(6), many, few, tokens), [2, 2, 2])
      // A key that was idle is not ahead of one that was not.
      const late = yield* enqueueAll(tenant, 10, { key: newKey() })
      assert.deepStrictEqual(taken(yield* queue.claim(5), many, late, tokens), [2, 2, 1])
    }),
  )

  test(
    "get turns by their weights, one worker at a time",
    Effect.gen(function* () {
      const queue = yield* JobQueue
      const tenant = yield* makeAgent()
      const heavy = yield* enqueueAll(tenant, 20, { key: newKey(3) })
      const light = yield* enqueueAll(tenant, 20, { key: newKey() }, "unbounded")
      const claimed = yield* Effect.forEach(Array.from({ length: 16 }), () => queue.claim(1))
      assert.deepStrictEqual(taken(claimed.flat(), heavy, light), [12, 4])
    }),
  )

  test(
    "begin jobs of a higher priority first",
    Effect.gen(function* () {
      const queue = yield* JobQueue
      const tenant = yield* makeAgent()
      const [one, other] = [newKey(), newKey()]
      const low = yield* enqueueAll(tenant, 2, { key: one, priority: "low" })
      const normal = yield* enqueueAll(tenant, 2, { key: one })
      const high = yield* enqueueAll(tenant, 4, { key: other, priority: "high" })
      assert.deepStrictEqual(taken(yield* queue.claim(3), low, normal, high), [0, 0, 3])
      assert.deepStrictEqual(taken(yield* queue.claim(3), low, normal, high), [0, 2, 1])
      assert.deepStrictEqual(taken(yield* queue.claim(3), low, normal, high), [2, 0, 0])
    }),
  )

  test(
    "resume jobs in turn with the others' waiting jobs",
    Effect.gen(function* () {
      const [jobs, queue, sql] = [yield* Jobs, yield* JobQueue, yield* SqlClient.SqlClient]
      const tenant = yield* makeAgent()
      const old = yield* enqueueAll(tenant, 6, { key: newKey() })
      const waiting = yield* enqueueAll(tenant, 12, { key: newKey() })
      assert.deepStrictEqual(taken(yield* queue.claim(12), old, waiting), [6, 6])
      yield* sql`UPDATE jobs SET status = 'failed', finished_at = 1 WHERE id IN ${sql.in(old)}`
      for (const id of old) yield* jobs.resume(tenant.tenant, id)
      assert.deepStrictEqual(taken(yield* queue.claim(6), old, waiting), [3, 3])
    }),
  )
})

describeDatabases("tenants with waiting jobs", (database) => {
  const test = <E>(
    name: string,
    body: Effect.Effect<void, E, Jobs | JobQueue | Agents | SqlClient.SqlClient>,
    workersPerTenant = 100,
  ) => it.live(name, () => Effect.provide(body, services(database.layer, { workersPerTenant })))

  test(
    "get equal shares of the free workers, and the shares that others do not use",
    Effect.gen(function* () {
      const queue = yield* JobQueue
      const [many, few, one] = [yield* tenantWith(10), yield* tenantWith(2), yield* tenantWith(1)]
      assert.deepStrictEqual(shares(yield* queue.claim(5), many, few, one), [2, 2, 1])
      assert.deepStrictEqual(shares(yield* queue.claim(5), many, few, one), [5, 0, 0])
    }),
  )

  test(
    "get a worker only after tenants with fewer running jobs",
    Effect.gen(function* () {
      const queue = yield* JobQueue
      const [many, few] = [yield* tenantWith(10), yield* tenantWith(10)]
      const claimed = yield* queue.claim(5, new Map([[many.tenant, 3]]))
      assert.deepStrictEqual(shares(claimed, many, few), [1, 4])
    }),
  )

  const weights = new Map<string, number>()
  it.live("get shares by their weights, and come by turns if they have none", () =>
    Effect.gen(function* () {
      const queue = yield* JobQueue
      const [heavy, light, other] = [yield* tenantWith(20), yield* tenantWith(20), yield* tenantWith(20)]
      weights.set(heavy.tenant, 3)
      assert.deepStrictEqual(shares(yield* queue.claim(10), heavy, light, other), [6, 2, 2])
      // As its jobs end, it keeps its share.
      const running = new Map([
        [heavy.tenant, 5],
        [light.tenant, 2],
        [other.tenant, 2],
      ])
      assert.deepStrictEqual(shares(yield* queue.claim(1, running), heavy, light, other), [1, 0, 0])
      const full = new Map(running).set(heavy.tenant, 9)
      assert.deepStrictEqual(shares(yield* queue.claim(2, full), heavy, light, other), [0, 1, 1])
    }).pipe(Effect.provide(services(database.layer, { workersPerTenant: 100, weights }))),
  )

  test(
    "get no more workers than one tenant may have",
    Effect.gen(function* () {
      const queue = yield* JobQueue
      const [many, few] = [yield* tenantWith(10), yield* tenantWith(10)]
      const claimed = yield* queue.claim(10, new Map([[many.tenant, 2]]))
      assert.deepStrictEqual(shares(claimed, many, few), [1, 3])
    }),
    3,
  )

  test(
    "take turns in any number, each with its oldest job first",
    Effect.gen(function* () {
      const queue = yield* JobQueue
      const tenants = yield* Effect.forEach(Array.from({ length: 12 }), () => tenantWith(3))
      for (const round of [0, 1, 2]) {
        const claimed = yield* Effect.forEach(Array.from({ length: 6 }), () => queue.claim(2))
        assert.deepStrictEqual(
          claimed
            .flat()
            .map(({ job }) => job.id)
            .sort(),
          tenants.map(({ ids }) => ids[round]).sort(),
        )
      }
      assert.deepStrictEqual(yield* queue.claim(2), [])
    }),
  )

  test(
    "are found among tenants whose jobs are not due yet",
    Effect.gen(function* () {
      const queue = yield* JobQueue
      const sql = yield* SqlClient.SqlClient
      for (const _ of [1, 2, 3]) yield* tenantWith(2)
      yield* sql`UPDATE jobs SET due_at = ${Number.MAX_SAFE_INTEGER}`
      const due = yield* tenantWith(1)
      assert.deepStrictEqual(shares(yield* queue.claim(1), due), [1])
      assert.deepStrictEqual(yield* queue.claim(10), [])
    }),
  )

  it.live("find a free worker while one tenant has endless jobs", () =>
    Effect.gen(function* () {
      const go = yield* Latch.make()
      let greedy: TenantId | undefined
      let running = 0
      const { context } = yield* start(
        gateway(
          yield* database.create,
          ({ tenant }) =>
            tenant === greedy
              ? Effect.as(
                  Effect.andThen(
                    Effect.sync(() => running++),
                    go.await,
                  ),
                  answer("slow"),
                )
              : Effect.succeed(answer("quick")),
          { workers: 4, workersPerTenant: 3 },
        ),
      )
      const { agent, tenant } = yield* use(context, makeAgent())
      greedy = tenant
      const jobs = yield* use(context, Jobs)
      const slow = yield* Effect.forEach(Array.from({ length: 8 }), () => jobs.enqueue(tenant, agent.id, { task: "x" }))
      const other = yield* use(context, enqueueOne())
      assert.strictEqual((yield* use(context, ended(other.tenant, other.job))).status, "completed")
      assert.strictEqual(running, 3)
      yield* go.open
      for (const job of slow) {
        assert.strictEqual((yield* use(context, ended(tenant, job))).status, "completed")
      }
    }),
  )

  it.live("get the next worker as soon as one of their jobs ends, if they used all their workers", () =>
    Effect.gen(function* () {
      const { context } = yield* start(
        gateway(yield* database.create, () => Effect.succeed(answer("x")), {
          workers: 4,
          workersPerTenant: 1,
          // Nothing else makes the process claim again.
          poll: Duration.hours(1),
        }),
      )
      const { agent, tenant } = yield* use(context, makeAgent())
      const jobs = yield* use(context, Jobs)
      const all = yield* Effect.forEach(
        Array.from({ length: 5 }),
        () => jobs.enqueue(tenant, agent.id, { task: "x" }),
        { concurrency: "unbounded" },
      )
      for (const job of all) {
        assert.strictEqual((yield* jobs.wait(tenant, job.id, "5 seconds")).status, "completed")
      }
    }),
  )
})
