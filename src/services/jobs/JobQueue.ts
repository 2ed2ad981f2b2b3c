/**
 * Which job comes next. The rows of jobs are the queue: a queued one may be begun once it is due, and a running one is due
 * when its worker has not renewed its claim for the length of a lease. Tenants take turns.
 */
import { Clock, Context, Duration, Effect, Latch, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient, type Statement } from "effect/sql"
import type { TenantId } from "../../domain/jobs/agent.ts"
import type { JobId } from "../../domain/jobs/job.ts"
import type { Mode } from "../../domain/jobs/modes.ts"
import { makeProblem, type Problem } from "../../domain/problems/problem.ts"
import { storedSpan } from "../../domain/operations/traceContext.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import { decodeAgent } from "../agents/storedAgents.ts"
import { thisMoment } from "../moments.ts"
import { givenRows, unavailable } from "../storedRows.ts"
import { databaseTime } from "./databaseTime.ts"
import { afterCrash } from "./delays.ts"
import { jobEnded, jobTakenOver } from "./JobMetrics.ts"
import { decodeWork, WORK_COLUMNS } from "./JobRows.ts"
import { JobSettings } from "./JobSettings.ts"
import { ended, JobSignals, stopped } from "./JobSignals.ts"
import type { Lease } from "./Lease.ts"

/** Jobs of dead workers that are looked after in one transaction. */
const BATCH = 100

export class JobQueue extends Context.Service<
  JobQueue,
  {
    /**
     * Makes jobs that are due this process's, at most `count`, and of a tenant at most as many as `workersPerTenant`
     * leaves beside its `running` ones. Tenants with the fewest jobs running come first, then those whose turn is next;
     * within a tenant, the jobs that have waited longest.
     */
    readonly claim: (
      count: number,
      running?: ReadonlyMap<TenantId, number>,
    ) => Effect.Effect<ReadonlyArray<Lease>, StorageUnavailable>
    /**
     * Puts back the jobs of workers that died with them. Where too many died in a row with the same job, it waits for a
     * while or, in the end, fails. `own` are the jobs of this process, whose workers live: their leases only seem to
     * have run out when the clock was set forward or this process stood still.
     */
    readonly takeBack: (own?: Iterable<JobId>) => Effect.Effect<void, StorageUnavailable>
    /** Tells this process, once the transaction commits, that a job is due. Others find it when they look. */
    readonly wake: Effect.Effect<void>
    /** Waits until it was told so since the last time. */
    readonly woken: Effect.Effect<void>
  }
>()("sealgate/services/jobs/JobQueue") {
  static readonly layer = Layer.effect(
    JobQueue,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const signals = yield* JobSignals
      const random = yield* SecureRandom.SecureRandom
      const settings = yield* JobSettings
      const latch = yield* Latch.make()
      const now = databaseTime(sql)
      const columns = sql.literal(WORK_COLUMNS)

      // The embedded database has one process: whoever held a lease at its start has died.
      yield* sql.onDialectOrElse({
        sqlite: () => sql`UPDATE jobs SET due_at = 0 WHERE status = 'running' AND finished_at IS NULL`,
        orElse: () => Effect.void,
      })

      /** Running jobs whose workers died. Others who look at the same time get others. */
      const owned = givenRows(sql, { job_id: "TEXT" })
      const abandoned = (own: ReadonlyArray<JobId>) => sql`SELECT id FROM jobs
        WHERE status = 'running' AND finished_at IS NULL AND due_at <= ${now}
          AND id NOT IN (SELECT job_id FROM ${owned(own.map((job_id) => ({ job_id })))})
        ORDER BY due_at, id LIMIT ${BATCH}`
      const skipLocked = sql.onDialectOrElse({ pg: () => sql`FOR UPDATE SKIP LOCKED`, orElse: () => sql`` })

      // A subquery, because Postgres looks up no index by a function whose value changes while it reads.
      const isDue = sql`status = 'queued' AND finished_at IS NULL AND due_at <= (SELECT ${now})`
      /** The tenant after this one, in alphabetical order and round and round, that has a job which is due. */
      const tenantAfter = (tenant: Statement.Fragment) => sql`COALESCE(
        (SELECT tenant FROM jobs WHERE ${isDue} AND tenant > ${tenant} ORDER BY tenant LIMIT 1),
        (SELECT tenant FROM jobs WHERE ${isDue} AND tenant <= ${tenant} ORDER BY tenant LIMIT 1))`
      const running = givenRows(sql, { tenant: "TEXT", jobs: "BIGINT" })
      /** Those of a tenant that have waited longest. */
      const oldest = (tenant: string, count: Statement.Fragment) =>
        sql`SELECT id, due_at FROM jobs WHERE ${isDue} AND tenant = ${sql.literal(tenant)} ORDER BY due_at, id LIMIT ${count}`
      let lastServed = ""

      /**
       * Common table expressions that end with `due`, the ids of jobs to begin. Tenants are found by one look at the
       * index each, and no more of them than can matter: `count` tenants without running jobs are enough.
       */
      const nextJobs = (count: number, busy: ReadonlyMap<TenantId, number>) => {
        const most = count + busy.size
        const ring = sql`ring (first, tenant, turn) AS (
            SELECT tenant, tenant, 1 FROM (SELECT ${tenantAfter(sql`${lastServed}`)} AS tenant) AS next
            WHERE tenant IS NOT NULL
            UNION ALL
            SELECT first, ${tenantAfter(sql`ring.tenant`)}, turn + 1 FROM ring
            WHERE turn < ${most} AND (turn = 1 OR tenant <> first)
          )`
        const waiting = sql.onDialectOrElse({
          pg: () => sql`SELECT ring.tenant, turn, own.id, due_at
            FROM ring JOIN LATERAL (${oldest("ring.tenant", sql`${count}`)}) AS own ON TRUE`,
          orElse: () => sql`SELECT ring.tenant, turn, jobs.id, due_at FROM ring CROSS JOIN jobs
            ON jobs.id IN (SELECT id FROM (${oldest("ring.tenant", sql`${count}`)}))`,
        })
        const chosen = sql`placed AS (
            SELECT waiting.id, waiting.tenant, turn, COALESCE(given.jobs, 0) + ROW_NUMBER()
              OVER (PARTITION BY waiting.tenant ORDER BY due_at, id) AS place
            FROM (${waiting} WHERE turn = 1 OR ring.tenant <> first) AS waiting
            LEFT JOIN ${running([...busy].map(([tenant, jobs]) => ({ tenant, jobs })))} ON given.tenant = waiting.tenant
          ), chosen AS (
            SELECT id, tenant FROM placed WHERE place <= ${settings.workersPerTenant} ORDER BY place, turn LIMIT ${count}
          )`
        return sql.onDialectOrElse({
          // Only how many of each tenant is decided without locks, so that what others claim meanwhile is made up for.
          pg: () => sql`${ring}, ${chosen}, shares AS (SELECT tenant, COUNT(*) AS jobs FROM chosen GROUP BY tenant),
            due AS (SELECT own.id FROM shares
              JOIN LATERAL (${oldest("shares.tenant", sql`shares.jobs`)} FOR UPDATE SKIP LOCKED) AS own ON TRUE)`,
          orElse: () => sql`${ring}, ${chosen}, due AS (SELECT id FROM chosen)`,
        })
      }

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

      const claim = Effect.fnUntraced(function* (count: number, busy: ReadonlyMap<TenantId, number> = new Map()) {
        const [token, startedAt, since] = [yield* random.uuidV4(), yield* Clock.currentTimeMillis, yield* thisMoment]
        const until = sql`${now} + ${Duration.toMillis(settings.lease)}`
        const taken = sql`SET status = 'running', lease = ${token}, due_at = ${until},
          started_at = COALESCE(started_at, ${startedAt})`
        const rows = yield* sql.onDialectOrElse({
          // An array, which Postgres takes to be short, and so looks up its ids by the index.
          pg: () => sql`WITH RECURSIVE ${nextJobs(count, busy)}
            UPDATE jobs ${taken} WHERE id = ANY (ARRAY(SELECT id FROM due)) RETURNING ${columns}`,
          orElse: () => sql`WITH RECURSIVE ${nextJobs(count, busy)}
            UPDATE jobs ${taken} WHERE id IN (SELECT id FROM due) RETURNING ${columns}`,
        })
        const jobs = (yield* decodeWork(rows)).toSorted((a, b) => (a.id < b.id ? -1 : 1))
        lastServed = jobs.at(-1)?.tenant ?? lastServed
        const steps = yield* finishedSteps(jobs.flatMap(({ id, last_event }) => (last_event > 0 ? id : [])))
        return yield* Effect.forEach(jobs, (job) =>
          Effect.map(decodeAgent(job.agent), (agent): Lease => ({
            job: { ...job, agent },
            token,
            since,
            finished: new Map(steps.get(job.id)),
          })),
        )
      })

      const putOff = Effect.fnUntraced(function* (id: JobId, crashes: number) {
        const suspicion = crashes - settings.innocentCrashes
        if (suspicion <= 0) return
        const delay = Duration.toMillis(afterCrash(settings, suspicion))
        yield* sql`UPDATE jobs SET due_at = ${now} + ${delay} WHERE id = ${id}`
      })

      const giveUp = Effect.fnUntraced(function* (id: JobId, crashes: number, mode: Mode, createdAt: number) {
        const at = yield* Clock.currentTimeMillis
        yield* sql`UPDATE jobs SET status = 'failed', problem = ${JSON.stringify(crashed(crashes))}, finished_at = ${at},
          expires_at = ${at + Duration.toMillis(settings.retention)} WHERE id = ${id}`
        yield* signals.publish(ended(id))
        yield* sql.afterCommit(jobEnded(mode, "failed", Duration.millis(at - createdAt)))
      })

      const takeBack = Effect.fnUntraced(function* (own: ReadonlyArray<JobId>) {
        const rows = yield* sql<{ id: JobId; crashes: number; mode: Mode; created_at: number; traceparent: string }>`
          UPDATE jobs SET status = 'queued', lease = NULL, crashes = crashes + 1, due_at = ${now}
          WHERE id IN (${abandoned(own)} ${skipLocked}) RETURNING id, crashes, mode, created_at, traceparent`
        for (const { crashes, created_at, id, mode, traceparent } of rows) {
          // Should its worker be alive after all, it lets go of the job now and not only with its next write.
          yield* signals.publish(stopped(id))
          yield* sql.afterCommit(jobTakenOver(mode))
          const isOver = crashes > settings.maxCrashes
          yield* sql.afterCommit(
            Effect.logWarning(isOver ? "a job kept crashing its workers and has failed" : "a job's worker died").pipe(
              Effect.annotateLogs({ job: id, crashes, trace_id: storedSpan(traceparent).traceId }),
            ),
          )
          yield* isOver ? giveUp(id, crashes, mode, created_at) : putOff(id, crashes)
        }
        if (rows.length > 0) yield* wake
        return rows.length
      }, sql.withTransaction)

      const wake = sql.afterCommit(Effect.asVoid(latch.open))

      return JobQueue.of({
        claim: Effect.fn("JobQueue.claim")(claim, unavailable),
        takeBack: (own = []) =>
          takeBack([...own]).pipe(Effect.repeat({ while: (found) => found === BATCH }), Effect.asVoid, unavailable),
        wake,
        woken: Effect.andThen(latch.await, latch.close),
      })
    }).pipe(unavailable),
  ).pipe(Layer.provide(SecureRandom.layerWebCrypto))
}

const crashed = (crashes: number): Problem =>
  makeProblem({
    code: "job-crashed-workers",
    status: 500,
    title: "The job kept crashing its workers.",
    detail: `${crashes} workers in a row died while working on this job, without it finishing a step. It is not tried again.`,
    retryable: false,
  })
