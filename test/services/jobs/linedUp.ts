/** Jobs of one tenant that wait in lines, for tests of their order. */
import { it } from "@effect/vitest"
import { Effect } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { KeyId } from "../../../src/domain/access/keys.ts"
import type { TenantId } from "../../../src/domain/jobs/agent.ts"
import type { Job } from "../../../src/domain/jobs/job.ts"
import { makeProblem } from "../../../src/domain/problems/problem.ts"
import type { Agents } from "../../../src/services/agents/Agents.ts"
import { JobQueue } from "../../../src/services/jobs/JobQueue.ts"
import { Jobs } from "../../../src/services/jobs/Jobs.ts"
import { JobWrites } from "../../../src/services/jobs/JobWrites.ts"
import type { Lease } from "../../../src/services/jobs/Lease.ts"
import type { TestDatabase } from "../../support/databases.ts"
import { answer, makeAgent, services } from "../../support/jobs.ts"

export const problem = makeProblem({ code: "scripted", status: 500, title: "As scripted.", retryable: true })
export const completed = { status: "completed", result: answer("done") } as const

export const newKey = () => KeyId.make(SecureRandom.uuidV7Unsafe())

/** The lines of a job: of its concurrency key, and of its caller's key. */
export interface Lines {
  readonly concurrency?: string
  /** Of the concurrency key. */
  readonly limit?: number
  readonly key?: KeyId
  readonly cap?: number
}

interface Rest {
  readonly task?: string
  readonly priority?: Job["priority"]
}

/** The last arguments of `Jobs.enqueue` for a job in these lines. */
export const inLines = ({ cap, concurrency, key, limit }: Lines, rest: Rest = {}) =>
  [
    {
      task: "x",
      ...rest,
      ...(concurrency === undefined
        ? {}
        : { concurrency: { key: concurrency, ...(limit === undefined ? {} : { limit }) } }),
    },
    undefined,
    key === undefined ? undefined : { id: key, ...(cap === undefined ? {} : { maxRunningJobs: cap }) },
  ] as const

/** Changes the cap of a key, and applies it to open jobs. */
export const setCap = Effect.fnUntraced(function* (tenant: TenantId, key: KeyId, limit: number | null) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO gateway_keys (id, tenant, hash, document, max_running_jobs)
    VALUES (${key}, ${tenant}, ${key}, '{}', ${limit}) ON CONFLICT (id) DO UPDATE SET max_running_jobs = ${limit}`
  yield* (yield* JobQueue).cap(tenant, key)
})

/** A new tenant with an agent, and what it and its workers do with its jobs. */
export const makeTenant = Effect.gen(function* () {
  const [jobs, queue, writes] = [yield* Jobs, yield* JobQueue, yield* JobWrites]
  const context = yield* Effect.context<JobQueue | SqlClient.SqlClient>()
  const { agent, tenant } = yield* makeAgent()
  return {
    tenant,
    agent,
    jobs,
    enqueue: (lines: Lines = {}, rest: Rest = {}) => jobs.enqueue(tenant, agent.id, ...inLines(lines, rest)),
    cap: (key: KeyId, limit: number | null) => Effect.provideContext(setCap(tenant, key, limit), context),
    waits: (made: ReadonlyArray<Job>) =>
      Effect.forEach(made, ({ id }) => Effect.map(jobs.get(tenant, id), ({ waiting }) => waiting?.reason)),
    /** Claims due jobs of the tenant, in their order. */
    claim: Effect.map(queue.claim(1000), (leases) => leases.filter(({ job }) => job.tenant === tenant)),
    end: (lease: Lease | undefined) => (lease === undefined ? Effect.die("no lease") : writes.end(lease, completed)),
  }
})

export const idsOf = (leases: ReadonlyArray<Lease>) => leases.map(({ job }) => job.id)

/** Returns a function that defines a test with the services of jobs on a database. */
export const testJobs =
  (database: TestDatabase) =>
  <E>(name: string, body: Effect.Effect<void, E, Jobs | JobQueue | JobWrites | Agents | SqlClient.SqlClient>) =>
    it.live(name, () =>
      Effect.provide(body, services(database.layer, { workersPerTenant: 1000, maxCrashes: 1, innocentCrashes: 9 })),
    )
