import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { TenantId } from "../../../src/domain/jobs/agent.ts"
import { IdempotencyKey } from "../../../src/domain/jobs/job.ts"
import { TenantQuotas } from "../../../src/services/access/TenantQuotas.ts"
import { Agents } from "../../../src/services/agents/Agents.ts"
import { Jobs } from "../../../src/services/jobs/Jobs.ts"
import { describeDatabases } from "../../support/databases.ts"
import { makeAgent, services, start, use } from "../../support/jobs.ts"

const QUOTAS = { agents: 3, openJobs: 4 }
const unbounded = { concurrency: "unbounded" } as const
const newTenant = Effect.sync(() => TenantId.make(SecureRandom.uuidV7Unsafe()))
const withQuotas = <A, E, R>(layer: Layer.Layer<A, E, R>) => Layer.provide(layer, Layer.succeed(TenantQuotas, QUOTAS))

/** How many of these succeeded, and the refusals of the others. */
const outcomesOf = <A, E, R>(attempts: ReadonlyArray<Effect.Effect<A, E, R>>) =>
  Effect.map(
    Effect.partition(attempts, (attempt) => attempt, unbounded),
    ([made, refusals]) => ({ made, refusals }),
  )

describeDatabases("a tenant's quotas", (database) => {
  it.effect("bound its agents, also those made side by side by several processes", () =>
    Effect.gen(function* () {
      const one = yield* database.create
      const first = yield* start(withQuotas(services(one)))
      // A file has one process.
      const second = database.kind === "sqlite" ? first : yield* start(withQuotas(services(one)))
      const [tenant, other] = [yield* newTenant, yield* newTenant]
      const create = (of: TenantId) => Effect.flatMap(Agents, (agents) => agents.create(of, { name: "a" }))
      const attempts = Array.from({ length: 10 }, (_, i) => use((i % 2 === 0 ? first : second).context, create(tenant)))
      const { made, refusals } = yield* outcomesOf(attempts)
      assert.lengthOf(made, QUOTAS.agents)
      for (const refusal of refusals) {
        assert.deepInclude(refusal, { code: "too-many-agents", detail: "At most 3 agents of one tenant may exist." })
      }
      const { context } = first
      yield* use(context, create(other))
      yield* use(
        context,
        Agents.use((agents) => agents.remove(tenant, made[0]?.id ?? "")),
      )
      yield* use(context, create(tenant))
      assert.strictEqual((yield* Effect.flip(use(context, create(tenant))))._tag, "TooManyAgents")
    }),
  )

  const test = <E>(name: string, body: Effect.Effect<void, E, Jobs | Agents | SqlClient.SqlClient>) =>
    it.effect(name, () => Effect.provide(body, withQuotas(services(database.layer))))

  test(
    "bound its open jobs, also those that arrive at the same time, and no other tenant's",
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const [mine, others] = [yield* makeAgent(), yield* makeAgent()]
      const enqueue = ({ agent, tenant }: typeof mine) => jobs.enqueue(tenant, agent.id, { task: "T" })
      const attempts = [...Array.from({ length: 10 }, () => enqueue(mine)), enqueue(others), enqueue(others)]
      const { made, refusals } = yield* outcomesOf(attempts)
      const ofMine = made.filter(({ agent_id }) => agent_id === mine.agent.id)
      assert.deepStrictEqual([ofMine.length, made.length], [QUOTAS.openJobs, QUOTAS.openJobs + 2])
      for (const refusal of refusals) {
        assert.deepInclude(refusal, { code: "too-many-jobs", detail: "At most 4 jobs of one tenant may be open." })
      }
      assert.lengthOf((yield* jobs.list(mine.tenant)).items, QUOTAS.openJobs)
    }),
  )

  test(
    "count no job that ended, and do not use up an idempotency key",
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const { agent, tenant } = yield* makeAgent()
      const enqueue = (key: string) => jobs.enqueue(tenant, agent.id, { task: "T" }, IdempotencyKey.make(key))
      const [first] = yield* Effect.forEach(["a", "b", "c", "d"], enqueue)
      assert.strictEqual((yield* Effect.flip(enqueue("e")))._tag, "TooManyJobs")
      assert.strictEqual((yield* enqueue("a")).id, first?.id)
      yield* jobs.cancel(tenant, first?.id ?? "")
      yield* enqueue("e")
      assert.strictEqual((yield* Effect.flip(enqueue("f")))._tag, "TooManyJobs")
    }),
  )

  test(
    "bound the jobs that are resumed",
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const sql = yield* SqlClient.SqlClient
      const { agent, tenant } = yield* makeAgent()
      const enqueue = jobs.enqueue(tenant, agent.id, { task: "T" })
      const { id } = yield* enqueue
      yield* sql`UPDATE jobs SET status = 'failed', finished_at = 1 WHERE id = ${id}`
      const open = yield* Effect.replicateEffect(enqueue, QUOTAS.openJobs)
      assert.strictEqual((yield* Effect.flip(jobs.resume(tenant, id)))._tag, "TooManyJobs")
      yield* jobs.cancel(tenant, open[0]?.id ?? "")
      assert.deepInclude(yield* jobs.resume(tenant, id), { status: "queued" })
    }),
  )
})
