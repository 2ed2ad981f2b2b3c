/** Leases of running jobs: how long they last, and how their loss is noticed. */
import { assert, it } from "@effect/vitest"
import { Clock, Duration, Effect, Latch, Layer, Queue, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { StorageUnavailable } from "../../../src/domain/operations/storage.ts"
import { JobWrites } from "../../../src/services/jobs/JobWrites.ts"
import { JobQueue } from "../../../src/services/jobs/JobQueue.ts"
import { Jobs } from "../../../src/services/jobs/Jobs.ts"
import { JobSettings } from "../../../src/services/jobs/JobSettings.ts"
import { describeDatabases, sqlite } from "../../support/databases.ts"
import { settableClock } from "../../support/settableClock.ts"
import {
  answer,
  ended,
  enqueueOne,
  failure,
  gateway,
  makeAgent,
  type Program,
  services,
  start,
  takeJob,
  text,
  use,
} from "../../support/jobs.ts"
import { withinTurns } from "../../support/withinTurns.ts"

/** Without background checks: only events of jobs make the process check them. */
const undisturbed = { leaseRefresh: Duration.hours(1) }

describeDatabases("jobs that a worker holds", (database) => {
  it.live("are not taken back when the clock is set forward, unlike those of dead workers", () =>
    Effect.gen(function* () {
      const running = yield* Latch.make()
      const go = yield* Latch.make()
      let runs = 0
      const program: Program = ({ task }) =>
        task === "other"
          ? Effect.succeed(answer("other"))
          : Effect.as(
              Effect.andThen(
                Effect.sync(() => runs++),
                Effect.andThen(running.open, go.await),
              ),
              answer("own"),
            )
      const { context } = yield* start(gateway(yield* database.create, program, { ...undisturbed, workers: 1 }))
      const { agent, job, tenant } = yield* use(context, enqueueOne())
      yield* running.await
      const sql = yield* use(context, SqlClient.SqlClient)
      const jobs = yield* use(context, Jobs)
      const other = yield* jobs.enqueue(tenant, agent.id, { task: "other" })
      // By the database's clock, both leases ran out long ago.
      yield* sql`UPDATE jobs SET status = 'running', due_at = 0, lease = COALESCE(lease, 'dead')`
      yield* Effect.repeat(jobs.get(tenant, other.id), {
        until: ({ status }) => status === "queued",
        schedule: Schedule.spaced("10 millis"),
      })
      assert.strictEqual((yield* jobs.get(tenant, job.id)).status, "running")
      yield* go.open
      for (const { id } of [job, other]) {
        assert.strictEqual((yield* use(context, ended(tenant, { id }))).status, "completed")
      }
      assert.strictEqual(runs, 1)
    }),
  )

  it.live("are not taken back by a search for dead workers that began before their claim", () =>
    Effect.gen(function* () {
      const running = yield* Latch.make()
      let runs = 0
      const program: Program = () =>
        Effect.sync(() => runs++).pipe(
          Effect.andThen(running.open),
          Effect.andThen(Effect.sleep("100 millis")),
          Effect.as(answer("own")),
        )
      /** The queue of a process that stood still after each claim, and whose searches take long. */
      const slow = Layer.effect(
        JobQueue,
        Effect.gen(function* () {
          const queue = yield* JobQueue
          const sql = yield* SqlClient.SqlClient
          return JobQueue.of({
            ...queue,
            claim: (count, held) =>
              Effect.tap(queue.claim(count, held), () => Effect.orDie(sql`UPDATE jobs SET due_at = 0`)),
            requeueAbandoned: (own) => {
              const held = [...(own ?? [])]
              return Effect.andThen(Effect.timeoutOption(running.await, "200 millis"), queue.requeueAbandoned(held))
            },
          })
        }),
      )
      const { context } = yield* start(gateway(yield* database.create, program, undisturbed, undefined, slow))
      const { job, tenant } = yield* use(context, enqueueOne())
      const done = yield* use(context, ended(tenant, job))
      assert.strictEqual(done.status, "completed")
      assert.strictEqual(runs, 1)
    }),
  )

  it.live("keep their remaining time when the clock is set forward", () =>
    Effect.gen(function* () {
      const { clock, set } = yield* settableClock
      const program: Program = (context) =>
        Effect.gen(function* () {
          yield* text(context, "before", Effect.succeed("x"))
          set.forward = Duration.toMillis("10 days")
          yield* text(context, "after", Effect.succeed("x"))
          return context.attempt === 1 ? yield* failure(true) : answer("x")
        })
      yield* Effect.gen(function* () {
        const { context } = yield* start(gateway(yield* database.create, program, { retryFor: Duration.days(100) }))
        const { job, tenant } = yield* use(context, enqueueOne({ timeout_seconds: 60 }))
        const done = yield* use(context, ended(tenant, job))
        assert.strictEqual(done.status, "completed")
        assert.strictEqual(done.attempt, 2)
      }).pipe(Effect.scoped, Effect.provideService(Clock.Clock, clock))
    }),
  )

  it.live("can be cancelled when claimed by a process that is still cleaning up their last run", () =>
    Effect.gen(function* () {
      const [cleanUp, second, interrupted] = [yield* Latch.make(), yield* Latch.make(), yield* Latch.make()]
      const [first, cleaned] = [yield* Latch.make(), yield* Latch.make()]
      let runs = 0
      const program: Program = () =>
        Effect.suspend(() =>
          ++runs === 1
            ? Effect.onInterrupt(Effect.andThen(first.open, Effect.never), () =>
                Effect.andThen(cleanUp.await, cleaned.open),
              )
            : Effect.onInterrupt(Effect.andThen(second.open, Effect.never), () => interrupted.open),
        )
      const { context } = yield* start(gateway(yield* database.create, program, undisturbed))
      const { job, tenant } = yield* use(context, enqueueOne())
      yield* first.await
      const sql = yield* use(context, SqlClient.SqlClient)
      // Another process took the job back, as if its worker had died.
      yield* sql`UPDATE jobs SET status = 'queued', lease = NULL, due_at = 0 WHERE id = ${job.id}`
      yield* second.await
      yield* cleanUp.open
      yield* cleaned.await
      // Until the first run has ended altogether.
      yield* Effect.sleep("50 millis")
      yield* use(
        context,
        Jobs.use((jobs) => jobs.cancel(tenant, job.id)),
      )
      yield* withinTurns("4 seconds")(interrupted.await)
    }),
  )

  it.live("are stopped if they were cancelled during the claim", () =>
    Effect.gen(function* () {
      const interrupted = yield* Queue.unbounded<string>()
      const program: Program = ({ jobId, task }) =>
        task === "kept"
          ? Effect.succeed(answer("kept"))
          : Effect.onInterrupt(Effect.never, () => Queue.offer(interrupted, jobId))
      const cancelled: Array<string> = []
      /** The queue, but cancels of all that it hands out what is not to be kept, before anybody hears of it. */
      const cancelling = Layer.effect(
        JobQueue,
        Effect.gen(function* () {
          const queue = yield* JobQueue
          const jobs = yield* Jobs
          return JobQueue.of({
            ...queue,
            claim: (count, running) =>
              Effect.tap(queue.claim(count, running), (leases) =>
                Effect.forEach(
                  leases.filter(({ job }) => job.task !== "kept"),
                  ({ job: { id, tenant } }) =>
                    Effect.andThen(
                      Effect.orDie(jobs.cancel(tenant, id)),
                      Effect.sync(() => cancelled.push(id)),
                    ),
                ),
              ),
          })
        }),
      )
      const { context } = yield* start(gateway(yield* database.create, program, undisturbed, undefined, cancelling))
      const jobs = yield* use(context, Jobs)
      const { agent, tenant } = yield* use(context, makeAgent())
      const [kept] = yield* Effect.forEach(
        ["kept", "a", "kept", "b"],
        (task) => jobs.enqueue(tenant, agent.id, { task }),
        { concurrency: "unbounded" },
      )
      const one = yield* withinTurns("4 seconds")(Queue.take(interrupted))
      const two = yield* withinTurns("4 seconds")(Queue.take(interrupted))
      assert.deepStrictEqual([one, two].sort(), cancelled.toSorted())
      if (kept !== undefined) assert.strictEqual((yield* use(context, ended(tenant, kept))).status, "completed")
    }),
  )
})

it.effect("a job is held for a whole lease after its last renewal while the database is away", () =>
  Effect.gen(function* () {
    const settings = {
      ...JobSettings.defaultValue(),
      lease: Duration.seconds(15),
      leaseRefresh: Duration.seconds(5),
      poll: Duration.days(1000),
    }
    const running = yield* Latch.make()
    const looked = yield* Queue.unbounded<void>()
    let isAway = false
    let left = false
    const outage = Layer.effect(
      JobWrites,
      Effect.map(JobWrites, (writes) =>
        JobWrites.of({
          ...writes,
          renew: (held) =>
            (isAway ? Effect.fail(new StorageUnavailable()) : writes.renew(held)).pipe(
              Effect.ensuring(Queue.offer(looked, undefined)),
            ),
        }),
      ),
    )
    const program: Program = () =>
      Effect.onInterrupt(Effect.andThen(running.open, Effect.never), () => Effect.sync(() => (left = true)))
    const { context } = yield* start(gateway(yield* sqlite.create, program, settings, undefined, outage))
    const pass = Effect.andThen(TestClock.adjust(settings.leaseRefresh), Queue.take(looked))
    yield* use(context, enqueueOne())
    yield* running.await
    yield* Queue.clear(looked)
    for (let times = 0; times < 6; times++) yield* pass
    isAway = true
    yield* pass
    yield* pass
    yield* TestClock.adjust("1 second")
    assert.isFalse(left)
    yield* pass
    yield* TestClock.adjust("1 second")
    assert.isTrue(left)
  }),
)

it.effect("leases are renewed and steps written within a second once the database is back", () =>
  Effect.gen(function* () {
    const begun = yield* Latch.make()
    const renewals: Array<number> = []
    const writesTried: Array<number> = []
    let isAway = true
    const behindOutage = <A>(tried: Array<number>, write: Effect.Effect<A, StorageUnavailable>) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        if (!isAway) return write
        tried.push(now)
        return Effect.fail(new StorageUnavailable())
      })
    const outage = Layer.effect(
      JobWrites,
      Effect.map(JobWrites, (writes) =>
        JobWrites.of({
          ...writes,
          renew: (leases) => behindOutage(renewals, writes.renew(leases)),
          recordStep: (lease, step) => behindOutage(writesTried, writes.recordStep(lease, step)),
        }),
      ),
    )
    const program: Program = (context) => Effect.as(text(context, "paid", Effect.as(begun.open, "x")), answer("x"))
    const { context } = yield* start(
      gateway(yield* sqlite.create, program, { poll: Duration.days(1000) }, undefined, outage),
    )
    const { job, tenant } = yield* use(context, enqueueOne())
    yield* begun.await
    yield* TestClock.adjust("14 seconds")
    isAway = false
    // Longer than a retry may take, so that a failing test can end.
    yield* TestClock.adjust("20 seconds")
    assert.strictEqual((yield* use(context, ended(tenant, job))).status, "completed")
    for (const tried of [renewals, writesTried]) {
      assert.isAtLeast(tried.length, 10)
      const gaps = tried.slice(1).map((at, index) => at - (tried[index] ?? 0))
      for (const gap of gaps) assert.isAtMost(gap, 1000)
    }
  }),
)

it.effect("the time of workers is measured with a monotonic clock", () =>
  Effect.gen(function* () {
    const { clock, set } = yield* settableClock
    yield* Effect.gen(function* () {
      const writes = yield* JobWrites
      const sql = yield* SqlClient.SqlClient
      const { job } = yield* enqueueOne()
      for (const forward of [Duration.toMillis("1 hour"), -Duration.toMillis("2 hours")]) {
        const lease = yield* Effect.flatMap(takeJob(job), Effect.fromOption)
        set.forward += forward
        yield* TestClock.adjust("2 seconds")
        yield* writes.release(lease)
      }
      const [row] = yield* sql<{ ran_ms: number }>`SELECT ran_ms FROM jobs`
      assert.strictEqual(row?.ran_ms, 4000)
    }).pipe(Effect.provide(services(sqlite.layer, undisturbed)), Effect.provideService(Clock.Clock, clock))
  }),
)
