import { assert, it } from "@effect/vitest"
import { DateTime, Duration, Effect, Fiber, Latch, Metric, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import type { Job } from "../../../src/domain/jobs/job.ts"
import type { Agents } from "../../../src/services/agents/Agents.ts"
import { databaseTime } from "../../../src/services/databaseTime.ts"
import { JobWrites } from "../../../src/services/jobs/JobWrites.ts"
import { queueObserved } from "../../../src/services/jobs/JobMetrics.ts"
import { Jobs } from "../../../src/services/jobs/Jobs.ts"
import { describeDatabases } from "../../support/databases.ts"
import {
  answer,
  ended,
  enqueueOne,
  failure,
  gateway,
  makeAgent,
  type Program,
  runOne,
  services,
  start,
  stepsOf,
  takeJob,
  text,
  use,
} from "../../support/jobs.ts"
import { withinTurns } from "../../support/withinTurns.ts"

/** Counts its calls by name. */
const counter = () => {
  const counts: Record<string, number> = {}
  const call = (name: string) =>
    Effect.sync(() => {
      counts[name] = (counts[name] ?? 0) + 1
      return `${name} ${counts[name]}`
    })
  return { counts, call }
}

/** Leaves a queued job as a worker leaves it that is killed while it works on it, after `crashes` others. */
const abandon = Effect.fnUntraced(function* (job: Pick<Job, "id">, crashes: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE jobs SET status = 'running', lease = 'dead', started_at = 1, crashes = ${crashes},
    due_at = ${databaseTime(sql)} + ${LEASE_MS} WHERE id = ${job.id}`
})
/** A program whose call never ends. It opens `running` once the call began, and `interrupted` when it is interrupted. */
const endless =
  (running: Latch.Latch, interrupted: Latch.Latch): Program =>
  (context) =>
    Effect.as(
      text(
        context,
        "endless",
        Effect.onInterrupt(Effect.andThen(running.open, Effect.never), () => interrupted.open),
      ),
      answer("never"),
    )

const LEASE_MS = 2000

describeDatabases("job runner", (database) => {
  const test = (
    name: string,
    program: Program,
    body: Effect.Effect<void, unknown, Jobs | Agents | JobWrites>,
    settings?: Parameters<typeof gateway>[2],
  ) => it.live(name, () => Effect.provide(body, gateway(database.layer, program, settings)))

  test(
    "runs a job to its result, and keeps its steps and their costs",
    (context) =>
      Effect.gen(function* () {
        const draft = yield* context.step(
          { kind: "draft" },
          Schema.Struct({ text: Schema.String }),
          Effect.succeed({
            value: { text: "a marine mammal" },
            call: {
              provider: "echo",
              model: "echo-1",
              usage: { input_tokens: 5, output_tokens: 3, cached_tokens: 1 },
              cost_micro_usd: 12,
              calls: 2,
            },
          }),
        )
        yield* text(context, "free", Effect.succeed("x"))
        return answer(draft.text)
      }),
    Effect.gen(function* () {
      const done = yield* runOne()
      assert.strictEqual(done.status, "completed")
      assert.deepStrictEqual(done.result, answer("a marine mammal"))
      const usage = { input_tokens: 5, output_tokens: 3, cached_tokens: 1 }
      assert.deepStrictEqual(
        done.steps.map(({ cost_micro_usd, name, provider, status, usage }) => [
          name,
          provider,
          status,
          usage,
          cost_micro_usd,
        ]),
        [
          ["draft", "echo", "completed", usage, 12],
          ["free", null, "completed", null, null],
        ],
      )
      assert.isDefined(done.started_at)
      assert.isDefined(done.finished_at)
    }),
  )

  it.live("retries after a retryable failure without repeating finished steps", () => {
    const { call, counts } = counter()
    return Effect.gen(function* () {
      const done = yield* runOne()
      assert.strictEqual(done.status, "completed")
      assert.strictEqual(done.attempt, 2)
      assert.deepStrictEqual(stepsOf(done), ["first completed", "second failed", "second completed"])
      assert.deepStrictEqual(counts, { first: 1, second: 2 })
      assert.deepStrictEqual(done.result, answer("first 1, second 2"))
    }).pipe(
      Effect.provide(
        gateway(database.layer, (context) =>
          Effect.gen(function* () {
            const first = yield* text(context, "first", call("first"))
            const second = yield* text(
              context,
              "second",
              Effect.flatMap(call("second"), (value) =>
                context.attempt === 1 ? Effect.fail(failure(true)) : Effect.succeed(value),
              ),
            )
            return answer(`${first}, ${second}`)
          }),
        ),
      ),
    )
  })

  test(
    "fails a job after a second program fault without quoting its message, and keeps working",
    (context) =>
      context.task === "fine" ? Effect.succeed(answer("fine")) : Effect.die(new Error("the secret prompt")),
    Effect.gen(function* () {
      const { agent, job, tenant } = yield* enqueueOne()
      const done = yield* ended(tenant, job)
      assert.strictEqual(done.status, "failed")
      assert.strictEqual(done.attempt, 2)
      assert.strictEqual(done.problem?.code, "internal")
      assert.notInclude(JSON.stringify(done), "secret prompt")
      const jobs = yield* Jobs
      const next = yield* jobs.enqueue(tenant, agent.id, { task: "fine" })
      assert.strictEqual((yield* ended(tenant, next)).status, "completed")
    }),
    { workers: 1 },
  )

  it.effect("ends a job that takes too long, interrupts its call, and keeps its finished steps", () => {
    let interrupted = false
    const running = Latch.makeUnsafe()
    return Effect.gen(function* () {
      const { job, tenant } = yield* enqueueOne({ timeout_seconds: 1 })
      yield* running.await
      yield* TestClock.adjust("1 second")
      const done = yield* ended(tenant, job)
      assert.strictEqual(done.status, "timed_out")
      assert.strictEqual(done.problem?.code, "job-timed-out")
      assert.deepStrictEqual(stepsOf(done), ["first completed"])
      assert.isTrue(interrupted)
    }).pipe(
      Effect.provide(
        gateway(database.layer, (context) =>
          Effect.gen(function* () {
            yield* text(context, "first", Effect.succeed("x"))
            yield* text(
              context,
              "endless",
              Effect.onInterrupt(Effect.andThen(running.open, Effect.never), () =>
                Effect.sync(() => (interrupted = true)),
              ),
            )
            return answer("never")
          }),
        ),
      ),
    )
  })

  test(
    "counts a job's time over all its attempts",
    // Each takes an eighth of the time, so that a stall of the machine does not use it up in the first.
    () => Effect.andThen(Effect.sleep("250 millis"), Effect.fail(failure(true))),
    Effect.gen(function* () {
      const done = yield* runOne({ timeout_seconds: 2 })
      assert.strictEqual(done.status, "timed_out")
      assert.isAbove(done.attempt, 1)
    }),
    { retryCap: Duration.millis(1) },
  )

  it.live("interrupts the call in flight of a removed job, which leaves nothing", () => {
    const running = Latch.makeUnsafe()
    const interrupted = Latch.makeUnsafe()
    return Effect.gen(function* () {
      const jobs = yield* Jobs
      const { job, tenant } = yield* enqueueOne()
      yield* running.await
      yield* jobs.remove(tenant, job.id)
      // Well below the time after which a worker looks without having been woken.
      yield* withinTurns("4 seconds")(interrupted.await)
      assert.deepStrictEqual((yield* jobs.list(tenant)).items, [])
    }).pipe(Effect.provide(gateway(database.layer, endless(running, interrupted))))
  })

  it.live("stores a call that succeeds during a shutdown", () => {
    const running = Latch.makeUnsafe()
    const answered = Latch.makeUnsafe()
    return Effect.gen(function* () {
      const layer = yield* database.create
      const first = yield* start(
        gateway(layer, (context) =>
          Effect.gen(function* () {
            yield* text(context, "late", Effect.andThen(running.open, Effect.as(answered.await, "paid for")))
            return yield* Effect.never
          }),
        ),
      )
      const { job, tenant } = yield* use(first.context, enqueueOne())
      yield* running.await

      // While this transaction holds the job's row, the step cannot be written.
      const locked = yield* Latch.make()
      const unlock = yield* Latch.make()
      const blocker = yield* SqlClient.SqlClient.use((sql) =>
        sql`UPDATE jobs SET metadata = metadata WHERE id = ${job.id}`.pipe(
          Effect.andThen(locked.open),
          Effect.andThen(unlock.await),
          sql.withTransaction,
        ),
      ).pipe(Effect.forkChild, (effect) => use(first.context, effect))
      yield* locked.await
      yield* answered.open
      yield* Effect.sleep("50 millis")
      const stopping = yield* Effect.forkChild(first.stop)
      yield* Effect.sleep("50 millis")
      yield* unlock.open
      yield* Fiber.join(blocker)
      yield* Fiber.join(stopping)

      const second = yield* start(
        gateway(layer, (context) => Effect.map(text(context, "late", Effect.succeed("paid again")), answer)),
      )
      assert.deepStrictEqual((yield* use(second.context, ended(tenant, job))).result, answer("paid for"))
    })
  })

  it.live("takes over jobs of dead workers, at once or delayed, and fails jobs that keep killing workers", () =>
    Effect.gen(function* () {
      const layer = yield* database.create
      const settings = {
        innocentCrashes: 1,
        maxCrashes: 2,
        // Longer than any test: it is ended below.
        crashBase: Duration.hours(1),
        crashCap: Duration.hours(1),
        // The embedded database does not wait for a lease to run out.
        lease: database.kind === "sqlite" ? Duration.hours(1) : Duration.millis(LEASE_MS),
        leaseRefresh: Duration.millis(500),
      }
      const before = yield* start(services(layer, settings))
      const abandoned = Effect.fnUntraced(function* (crashes: number) {
        const { job, tenant } = yield* use(before.context, enqueueOne())
        yield* use(before.context, abandon(job, crashes))
        return { job, tenant }
      })
      const innocent = yield* abandoned(0)
      const suspect = yield* abandoned(1)
      const poison = yield* abandoned(2)
      yield* before.stop

      const after = yield* start(gateway(layer, () => Effect.succeed(answer("alive")), settings))
      const done = yield* use(after.context, ended(innocent.tenant, innocent.job))
      assert.strictEqual(done.status, "completed")
      assert.strictEqual(done.attempt, 1)
      const given = yield* use(after.context, ended(poison.tenant, poison.job))
      assert.strictEqual(given.status, "failed")
      assert.strictEqual(given.problem?.code, "job-crashed-workers")
      assert.include(given.problem?.detail, "3 workers")
      const jobs = yield* use(after.context, Jobs)
      const waiting = yield* Effect.repeat(jobs.get(suspect.tenant, suspect.job.id), {
        until: (job) => job.status !== "running",
        schedule: Schedule.spaced("20 millis"),
      })
      assert.strictEqual(waiting.status, "queued")
      const sql = yield* use(after.context, SqlClient.SqlClient)
      const wait = sql<{
        ms: number
      }>`SELECT due_at - ${databaseTime(sql)} AS ms FROM jobs WHERE id = ${suspect.job.id}`
      assert.closeTo(Number((yield* wait)[0]?.ms), Duration.toMillis("1 hour"), Duration.toMillis("1 minute"))
      yield* sql`UPDATE jobs SET due_at = 0 WHERE id = ${suspect.job.id}`
      const late = yield* use(after.context, ended(suspect.tenant, suspect.job))
      assert.strictEqual(late.status, "completed")
      assert.strictEqual(late.attempt, 1)
    }),
  )

  it.live("stores a step once if it is written again because the answer to the first commit was lost", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const writes = yield* JobWrites
      const { job, tenant } = yield* enqueueOne()
      const lease = yield* Effect.flatMap(takeJob(job), Effect.fromOption)
      const step = { step: { kind: "a" }, outcome: null, call: null, startedAt: 1, finishedAt: 2 }
      for (const written of [step, step, { ...step, startedAt: 3, finishedAt: 4 }, { ...step, outcome: '"x"' }]) {
        assert.isTrue(yield* writes.recordStep(lease, written))
        assert.isTrue(yield* writes.recordStep(lease, written))
      }
      assert.deepStrictEqual(stepsOf(yield* jobs.get(tenant, job.id)), ["a failed", "a failed", "a completed"])
    }).pipe(Effect.provide(services(database.layer))),
  )

  test(
    "runs parallel steps, and replays their values with their types",
    (context) =>
      Effect.gen(function* () {
        const samples = yield* Effect.forEach(
          [1, 2, 3, 4, 5],
          (n) =>
            context.step(
              { kind: "sample", sample: n },
              Schema.Struct({ at: Schema.DateTimeUtcFromString, n: Schema.Int }),
              Effect.succeed({ value: { at: DateTime.makeUnsafe(n), n } }),
            ),
          { concurrency: "unbounded" },
        )
        assert.deepStrictEqual(
          samples.map((sample) => DateTime.toEpochMillis(sample.at)),
          [1, 2, 3, 4, 5],
        )
        return context.attempt === 1 ? yield* failure(true) : answer(samples.map((sample) => sample.n).join())
      }),
    Effect.gen(function* () {
      const done = yield* runOne()
      assert.deepStrictEqual(done.result, answer("1,2,3,4,5"))
      assert.strictEqual(done.attempt, 2)
      assert.strictEqual(done.steps.length, 5)
    }),
  )

  test(
    "treats two steps of one name as a fault",
    (context) =>
      Effect.gen(function* () {
        yield* text(context, "twin", Effect.succeed("a"))
        yield* text(context, "twin", Effect.succeed("b"))
        return answer("never")
      }),
    Effect.gen(function* () {
      const done = yield* runOne()
      assert.strictEqual(done.problem?.code, "internal")
      assert.deepStrictEqual(stepsOf(done), ["twin completed"])
    }),
  )

  test(
    "treats a result that does not fit as a fault",
    () => Effect.succeed({ ...answer("x"), confidence: Number.NaN }),
    Effect.gen(function* () {
      const done = yield* runOne()
      assert.strictEqual(done.problem?.code, "internal")
    }),
  )

  it.live("counts its work in metrics", () => {
    let failing = 1
    const program: Program = (context) =>
      Effect.gen(function* () {
        yield* text(context, "only", Effect.succeed("x"))
        return failing-- > 0 ? yield* failure(true) : answer("x")
      })
    return Effect.gen(function* () {
      yield* runOne()
      const jobs = yield* Jobs
      yield* queueObserved(yield* jobs.queueState)
      const snapshot = yield* Metric.snapshot
      const stateOf = (id: string, labels: Record<string, string> = {}) =>
        snapshot.find(
          (metric) =>
            metric.id === id && Object.entries(labels).every(([name, value]) => metric.attributes?.[name] === value),
        )?.state
      const done = { mode: "adversarial", status: "completed" }
      assert.deepInclude(stateOf("sealgate_jobs_enqueued_total", { mode: "adversarial" }), { count: 1 })
      assert.deepInclude(stateOf("sealgate_jobs_ended_total", done), { count: 1 })
      assert.deepInclude(stateOf("sealgate_job_duration_seconds", done), { count: 1 })
      assert.deepInclude(stateOf("sealgate_job_step_duration_seconds", done), { count: 1 })
      // The first attempt failed after its step, and the second found it.
      assert.deepInclude(stateOf("sealgate_job_retries_total", { mode: "adversarial" }), { count: 1 })
      assert.deepInclude(stateOf("sealgate_job_steps_replayed_total", { mode: "adversarial" }), { count: 1 })
      assert.deepInclude(stateOf("sealgate_jobs_open", { status: "running" }), { value: 0 })
      assert.deepInclude(stateOf("sealgate_job_queue_depth"), { value: 0 })
      assert.deepInclude(stateOf("sealgate_job_queue_age_seconds"), { value: 0 })
    }).pipe(Effect.provide(gateway(database.layer, program)), Effect.provideService(Metric.MetricRegistry, new Map()))
  })

  it.live("works on as many jobs at a time as it has workers", () => {
    let now = 0
    let most = 0
    // Every attempt waits until all workers are busy.
    const busy = Latch.makeUnsafe()
    return Effect.gen(function* () {
      const { agent, tenant } = yield* makeAgent()
      const jobs = yield* Jobs
      const all = yield* Effect.forEach(Array.from({ length: 8 }), () => jobs.enqueue(tenant, agent.id, { task: "x" }))
      for (const job of all) assert.strictEqual((yield* ended(tenant, job)).status, "completed")
      assert.strictEqual(most, 3)
    }).pipe(
      Effect.provide(
        gateway(
          database.layer,
          () =>
            Effect.gen(function* () {
              most = Math.max(most, ++now)
              if (now === 3) yield* busy.open
              yield* busy.await
              // One worker too many would begin another job now.
              yield* Effect.sleep("30 millis")
              now--
              return answer("x")
            }),
          { workers: 3 },
        ),
      ),
    )
  })
})
