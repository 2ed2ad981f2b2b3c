/** The job queue, which is the table of jobs: queued ones that are due, and running ones whose lease has run out. */
import { Clock, Context, Duration, Effect, Latch, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { KeyId } from "../../domain/access/keys.ts"
import type { TenantId } from "../../domain/jobs/agent.ts"
import type { JobId } from "../../domain/jobs/job.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import { decodeAgent } from "../agents/storedAgents.ts"
import { rowByRow } from "../background.ts"
import { thisMoment } from "../moments.ts"
import { unavailable } from "../storedRows.ts"
import { type Lines, makeConcurrency } from "./concurrency.ts"
import { databaseTime } from "../databaseTime.ts"
import { decodeWork, WORK_COLUMNS } from "./JobRows.ts"
import { JobSettings } from "./JobSettings.ts"
import type { Lease } from "./Lease.ts"
import { makeFairClaim } from "./fairClaim.ts"
import { makeRequeueAbandoned } from "./requeueAbandoned.ts"

const readWork = (row: unknown) =>
  Effect.flatMap(decodeWork([row]), (jobs) =>
    Effect.forEach(jobs, (job) => Effect.map(decodeAgent(job.agent), (agent) => ({ ...job, agent }))),
  )

export class JobQueue extends Context.Service<
  JobQueue,
  {
    /**
     * Claims at most `count` due jobs for this process. A tenant gets at most `workersPerTenant`, its `running` ones
     * included. Tenants with the fewest running jobs for their weight come first, then those whose turn is next; within a
     * tenant, jobs of the highest priority, and then those with the lowest rank.
     */
    readonly claim: (
      count: number,
      running?: ReadonlyMap<TenantId, number>,
    ) => Effect.Effect<ReadonlyArray<Lease>, StorageUnavailable>
    /**
     * Puts back the jobs of dead workers. A job that killed several workers in a row is delayed and in the end fails.
     * Skips `own`, the jobs that this process works on: their leases can look expired although their workers live, after
     * the clock was set forward or this process was suspended.
     */
    readonly requeueAbandoned: (own?: Iterable<JobId>) => Effect.Effect<void, StorageUnavailable>
    /** Gives free places to the first jobs of these lines, once the transaction commits. */
    readonly admit: (lines: Lines) => Effect.Effect<void>
    /** Applies the present cap of a caller's key to its open jobs. Jobs that have begun continue. */
    readonly cap: (tenant: TenantId, key: KeyId) => Effect.Effect<void, StorageUnavailable>
    /** Announces a due job to this process once the transaction commits. Other processes find it when they poll. */
    readonly wake: Effect.Effect<void>
    /** Waits for a `wake` since the last wait. */
    readonly woken: Effect.Effect<void>
  }
>()("sealgate/services/jobs/JobQueue") {
  static readonly layer = Layer.effect(
    JobQueue,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom
      const settings = yield* JobSettings
      const latch = yield* Latch.make()
      const now = databaseTime(sql)
      const columns = sql.literal(WORK_COLUMNS)

      // The embedded database has one process, so a lease from before its start belongs to a dead worker.
      yield* sql.onDialectOrElse({
        sqlite: () => sql`UPDATE jobs SET due_at = 0 WHERE status = 'running' AND finished_at IS NULL`,
        orElse: () => Effect.void,
      })

      const fairClaim = makeFairClaim(sql, settings)
      const wake = sql.afterCommit(Effect.asVoid(latch.open))
      const { admit, admitLeft, cap } = yield* makeConcurrency(sql, wake)
      const requeue = yield* makeRequeueAbandoned(wake)
      let lastServed = ""

      const finishedSteps = Effect.fnUntraced(function* (jobs: ReadonlyArray<JobId>) {
        if (jobs.length === 0) return new Map<string, ReadonlyArray<readonly [string, string]>>()
        const rows = yield* sql<{ job_id: string; name: string; outcome: string }>`
          SELECT job_id, name, outcome FROM job_steps WHERE status = 'completed' AND job_id IN ${sql.in(jobs)}`
        return new Map(
          [...Map.groupBy(rows, ({ job_id }) => job_id)].map(([id, steps]) => [
            id,
            steps.map(({ name, outcome }) => [name, outcome] as const),
          ]),
        )
      })

      const claim = Effect.fnUntraced(function* (count: number, running: ReadonlyMap<TenantId, number> = new Map()) {
        const [token, startedAt, since] = [yield* random.uuidV4(), yield* Clock.currentTimeMillis, yield* thisMoment]
        const until = sql`${now} + ${Duration.toMillis(settings.lease)}`
        const taken = sql`SET status = 'running', lease = ${token}, due_at = ${until},
          started_at = COALESCE(started_at, ${startedAt})`
        const next = fairClaim({ count, running, lastServed })
        const claimed = yield* sql.onDialectOrElse({
          // An array: Postgres expects it to be short, and so uses the index.
          pg: () => sql<{ id: string }>`WITH RECURSIVE ${next}
            UPDATE jobs ${taken} WHERE id = ANY (ARRAY(SELECT id FROM due)) RETURNING ${columns}`,
          orElse: () => sql<{ id: string }>`WITH RECURSIVE ${next}
            UPDATE jobs ${taken} WHERE id IN (SELECT id FROM due) RETURNING ${columns}`,
        })
        // A job that cannot be read stays claimed until its lease runs out, as if its worker had died.
        const jobs = (yield* rowByRow(claimed, readWork)).toSorted((a, b) => (a.id < b.id ? -1 : 1))
        lastServed = jobs.at(-1)?.tenant ?? lastServed
        const steps = yield* finishedSteps(jobs.flatMap(({ id, last_event }) => (last_event > 0 ? id : [])))
        return jobs.map((job): Lease => ({ job, token, since, finished: new Map(steps.get(job.id)) }))
      })

      return JobQueue.of({
        claim: Effect.fn("JobQueue.claim")(claim, unavailable),
        requeueAbandoned: (own) => Effect.andThen(requeue(own), admitLeft),
        admit,
        cap,
        wake,
        woken: Effect.andThen(latch.await, latch.close),
      })
    }).pipe(unavailable),
  ).pipe(Layer.provide(SecureRandom.layerWebCrypto))
}
