import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Deferred, Effect, Exit, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { StorageUnavailable } from "../../../src/domain/operations/storage.ts"
import type { FinishedStep } from "../../../src/services/jobs/stepWrites.ts"
import type { JobContext } from "../../../src/services/jobs/JobProgram.ts"
import { type StopReason, makeSteps, type StepsOptions } from "../../../src/services/jobs/JobSteps.ts"
import { sqlite } from "../../support/databases.ts"
import { enqueueOne, failure, services, takeJob } from "../../support/jobs.ts"

/** The steps of a job that a worker holds. `record` decides the fate of their outcomes. */
const stepsOf = Effect.fnUntraced(function* (record: StepsOptions["record"]) {
  const { job } = yield* enqueueOne()
  const lease = yield* Effect.flatMap(takeJob(job), Effect.fromOption)
  const stopped = yield* Deferred.make<StopReason, StorageUnavailable>()
  const stop = (why: Exit.Exit<StopReason, StorageUnavailable>) => void Deferred.doneUnsafe(stopped, why)
  const clock = yield* Clock.Clock
  return { stopped, ...makeSteps({ lease, draining: Effect.succeed(false), stop, record, clock }) }
})

const say = (step: JobContext["step"], name = "a") =>
  step({ kind: name }, Schema.String, Effect.succeed({ value: "x" }))

describe("a step", () => {
  const test = <E>(name: string, body: Effect.Effect<void, E, Effect.Services<ReturnType<typeof stepsOf>>>) =>
    it.effect(name, () => Effect.provide(body, services(sqlite.layer)))

  it.effect.each([
    ["because the job is another worker's", Effect.succeed(false), Exit.succeed<StopReason>("gone")],
    ["because the database is away", Effect.fail(new StorageUnavailable()), Exit.fail(new StorageUnavailable())],
  ] as const)("that is not on disk leads nowhere: %s", ([, recorded, expected]) =>
    Effect.gen(function* () {
      const { stopped, step } = yield* stepsOf(() => recorded)
      let wentOn = false
      const fiber = yield* Effect.forkChild(Effect.map(say(step), () => (wentOn = true)))
      assert.deepStrictEqual(yield* Effect.exit(Deferred.await(stopped)), expected)
      yield* TestClock.adjust("1 hour")
      assert.isUndefined(fiber.pollUnsafe())
      yield* Fiber.interrupt(fiber)
      assert.isFalse(wentOn)
    }).pipe(Effect.provide(services(sqlite.layer))),
  )

  test(
    "is stored before anything builds on it, with its times, and a failed one without a value",
    Effect.gen(function* () {
      const stored: Array<FinishedStep> = []
      const { stopped, step } = yield* stepsOf((step) =>
        Effect.sync(() => {
          stored.push(step)
          return true
        }),
      )
      yield* TestClock.adjust("1 second")
      const slow = step({ kind: "slow" }, Schema.String, Effect.as(Effect.sleep("2 seconds"), { value: "x" }))
      const fiber = yield* Effect.forkChild(Effect.map(slow, (value) => [value, stored.length]))
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* Fiber.join(fiber), ["x", 1])
      const call = { provider: "p", model: "m", usage: null, cost_micro_usd: 7, calls: 1 }
      const broken = failure(true)
      const failed = step({ kind: "failed" }, Schema.String, Effect.fail(Object.assign(broken, { call })))
      assert.strictEqual(yield* Effect.flip(failed), broken)
      assert.deepStrictEqual(stored, [
        { step: { kind: "slow" }, outcome: '"x"', call: null, startedAt: 1000, finishedAt: 3000 },
        { step: { kind: "failed" }, outcome: null, call, problem: broken.problem, startedAt: 3000, finishedAt: 3000 },
      ])
      assert.isFalse(yield* Deferred.isDone(stopped))
    }),
  )

  test(
    "is not stored if interrupted while it runs, and is stored if interrupted while it is written",
    Effect.gen(function* () {
      const stored: Array<string> = []
      const { step } = yield* stepsOf(({ step }) =>
        Effect.map(Effect.sleep(1), () => {
          stored.push(step.kind)
          return true
        }),
      )
      const endless = yield* Effect.forkChild(step({ kind: "endless" }, Schema.String, Effect.never), {
        startImmediately: true,
      })
      yield* Fiber.interrupt(endless)
      const late = yield* Effect.forkChild(say(step, "late"), { startImmediately: true })
      const interrupting = yield* Effect.forkChild(Fiber.interrupt(late), { startImmediately: true })
      yield* TestClock.adjust(1)
      yield* Fiber.join(interrupting)
      assert.deepStrictEqual(stored, ["late"])
    }),
  )

  test(
    "is a fault if its value does not fit the schema, and the message does not quote the value",
    Effect.gen(function* () {
      const { step } = yield* stepsOf(() => Effect.succeed(true))
      const exit = yield* Effect.exit(step({ kind: "odd" }, Schema.Int, Effect.succeed({ value: 0.123 })))
      if (!Exit.isFailure(exit)) return assert.fail("it was stored")
      assert.isTrue(Cause.hasDies(exit.cause))
      assert.notInclude(Cause.pretty(exit.cause), "0.123")
    }),
  )
})
