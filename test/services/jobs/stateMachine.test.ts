/** The state machine of jobs under any order of what workers, owners and crashes do, against the real databases. */
import { assert, layer } from "@effect/vitest"
import { Duration, Effect, Option, Schema, Struct } from "effect"
import { TestClock } from "effect/testing"
import { isEnded, type Job, type JobStatus, TRANSITIONS } from "../../../src/domain/jobs/job.ts"
import { makeProblem } from "../../../src/domain/problems/problem.ts"
import { JobWrites } from "../../../src/services/jobs/JobWrites.ts"
import type { Lease } from "../../../src/services/jobs/Lease.ts"
import { Jobs } from "../../../src/services/jobs/Jobs.ts"
import { describeDatabases } from "../../support/databases.ts"
import { answer, enqueueOne, services, takeJob } from "../../support/jobs.ts"

const WORKERS = 2
const worker = Schema.Literals([0, 1])

/** Operations on a job. Workers without a lease act as if they held it, because they do not know. */
const Operation = Schema.Union([
  Schema.Struct({ op: Schema.Literal("start"), worker }),
  Schema.Struct({ op: Schema.Literal("step"), worker, name: Schema.Literals(["a", "b"]), fails: Schema.Boolean }),
  Schema.Struct({ op: Schema.Literals(["release", "retry"]), worker }),
  // The rarer ones share one place, because most of them end the job.
  Schema.Union([
    Schema.Struct({ op: Schema.Literal("end"), worker, status: Schema.Literals(["completed", "failed", "timed_out"]) }),
    Schema.Struct({ op: Schema.Literal("cancel") }),
    Schema.Struct({ op: Schema.Literal("look") }),
  ]),
])
type Operation = typeof Operation.Type

const problem = makeProblem({ code: "scripted", status: 500, title: "As scripted.", retryable: true })

/** Performs operations on one job; `true` means that it took effect. */
const makeActor = Effect.gen(function* () {
  const jobs = yield* Jobs
  const writes = yield* JobWrites
  const { job, tenant } = yield* enqueueOne()
  const held: Array<Lease | undefined> = Array.from({ length: WORKERS })
  // Why a job waits depends on the time.
  const read = Effect.map(jobs.get(tenant, job.id), (job): Job => Struct.omit(job, ["waiting"]))

  const perform = Effect.fnUntraced(function* (operation: Operation) {
    yield* TestClock.adjust("1 milli")
    if (operation.op === "look") return false
    if (operation.op === "cancel") {
      const { job: cancelled, wasOpen } = yield* jobs.cancel(tenant, job.id)
      return wasOpen && cancelled.status === "cancelled"
    }
    if (operation.op === "start") {
      const started = Option.getOrUndefined(yield* takeJob(job))
      if (started !== undefined) held[operation.worker] = started
      return started !== undefined
    }
    const lease = held[operation.worker]
    if (lease === undefined) return false
    switch (operation.op) {
      case "step": {
        const outcome = operation.fails ? null : JSON.stringify(lease.token)
        return yield* writes.recordStep(lease, {
          step: { kind: operation.name },
          outcome,
          call: null,
          startedAt: 0,
          finishedAt: 0,
        })
      }
      case "end":
        return yield* writes.end(
          lease,
          operation.status === "completed"
            ? { status: "completed", result: answer(lease.token) }
            : { status: operation.status, problem },
        )
      case "release":
        return yield* writes.release(lease)
      case "retry":
        return yield* writes.fail(lease, { problem, retryAfter: Duration.zero, isFault: false })
    }
  })
  return { held, perform, read }
})

/** Invariants of a job, at any time and between two reads. */
const checkHistory = (before: Job, after: Job) => {
  if (isEnded(before.status)) assert.deepStrictEqual(after, before, "an ended job changed")
  else assert.isTrue(before.status === after.status || reachable(before.status).has(after.status))
  assert.isAtLeast(after.attempt, before.attempt)
  assert.deepStrictEqual(after.steps.slice(0, before.steps.length), before.steps, "a step changed or went away")
  const completed = after.steps.filter((step) => step.status === "completed").map((step) => step.name)
  assert.strictEqual(new Set(completed).size, completed.length, "a step finished twice")
  assert.strictEqual(after.status === "completed", after.result !== undefined)
  assert.strictEqual(after.status === "failed" || after.status === "timed_out", after.problem !== undefined)
  assert.strictEqual(isEnded(after.status), after.finished_at !== undefined)
}

const reachable = (from: JobStatus): ReadonlySet<JobStatus> => {
  const seen = new Set<JobStatus>()
  const visit = (status: JobStatus) => {
    for (const next of TRANSITIONS[status]) {
      if (seen.has(next)) continue
      seen.add(next)
      visit(next)
    }
  }
  visit(from)
  return seen
}

describeDatabases("job state machine", (database) => {
  layer(services(database.layer, { maxCrashes: 1000, innocentCrashes: 1000 }))((it) => {
    it.effect.prop(
      "matches its model in every order of operations",
      [Schema.Array(Operation).check(Schema.isBetweenLength(8, 30))],
      ([operations]) =>
        Effect.gen(function* () {
          const { held, perform, read } = yield* makeActor
          let before = yield* read
          /** Which worker may write, according to the contract. */
          let holder: number | undefined
          for (const operation of operations) {
            const effective = yield* perform(operation)
            const after = yield* read
            checkHistory(before, after)
            const open = !isEnded(before.status)
            switch (operation.op) {
              case "look":
                assert.deepStrictEqual(after, before)
                break
              case "cancel":
                assert.strictEqual(effective, open)
                if (open) assert.strictEqual(after.status, "cancelled")
                break
              case "start":
                assert.strictEqual(effective, open)
                if (open) assert.strictEqual(after.status, "running")
                if (open) holder = operation.worker
                break
              default: {
                const allowed = open && holder === operation.worker
                assert.strictEqual(effective, allowed, operation.op)
                if (!allowed) assert.deepStrictEqual(after, before)
                else if (operation.op === "step") assert.isAtLeast(after.steps.length, before.steps.length)
                else if (operation.op === "end") assert.strictEqual(after.status, operation.status)
                else assert.strictEqual(after.status, "queued")
                if (allowed && operation.op !== "step") holder = undefined
                if (allowed && operation.op === "retry") assert.strictEqual(after.attempt, before.attempt + 1)
                if (allowed && operation.op === "end" && operation.status === "completed") {
                  assert.deepStrictEqual(after.result, answer(held[operation.worker]?.token ?? ""))
                }
              }
            }
            before = after
          }
        }),
      { arbitrary: { runs: 100 } },
    )

    it.effect.prop(
      "ends once under concurrent operations",
      [Schema.Array(Schema.Array(Operation).check(Schema.isBetweenLength(1, 6))).check(Schema.isBetweenLength(2, 8))],
      ([batches]) =>
        Effect.gen(function* () {
          const { perform, read } = yield* makeActor
          let before = yield* read
          let endings = 0
          for (const batch of batches) {
            const results = yield* Effect.all(batch.map(perform), { concurrency: "unbounded" })
            endings += batch.filter((operation, n) => operation.op === "end" && results[n] === true).length
            const after = yield* read
            checkHistory(before, after)
            before = after
          }
          assert.isAtMost(endings, 1)
          assert.strictEqual(endings === 1, isEnded(before.status) && before.status !== "cancelled")
        }),
      { arbitrary: { runs: 100 } },
    )
  })
})
