/** Jobs of one tenant that wait in lines, for tests of their order. */
import { it } from "@effect/vitest"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
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

/** A new tenant with an agent, and what workers do with its jobs. */
export const makeWorkedTenant = Effect.gen(function* () {
  const [jobs, queue, writes] = [yield* Jobs, yield* JobQueue, yield* JobWrites]
  const { agent, tenant } = yield* makeAgent()
  return {
    tenant,
    agent,
    jobs,
    queue,
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
