/** Jobs during a shutdown of their process. */
import { assert, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Latch, Schedule } from "effect"
import type { Job } from "../../../src/domain/jobs/job.ts"
import { Jobs } from "../../../src/services/jobs/Jobs.ts"
import { Drain } from "../../../src/services/lifecycle/Drain.ts"
import { describeDatabases } from "../../support/databases.ts"
import {
  answer,
  ended,
  enqueueOne,
  gateway,
  makeAgent,
  type Program,
  start,
  stepsOf,
  text,
  use,
} from "../../support/jobs.ts"
import { withinTurns } from "../../support/withinTurns.ts"

const drain = Effect.flatMap(Drain, (drain) => drain.drain)
const get = ({ job, tenant }: Effect.Success<ReturnType<typeof enqueueOne>>) =>
  Effect.flatMap(Jobs, (jobs) => jobs.get(tenant, job.id))
const seen = ({ attempt, status, ...job }: Job) => ({ status, attempt, steps: stepsOf(job as Job) })

/** Calls by name: how often each began, and gates that they wait at. */
const calls = () => {
  const begun: Array<string> = []
  const gates = new Map<string, Latch.Latch>()
  const gate = (name: string) => {
    const known = gates.get(name) ?? Latch.makeUnsafe()
    gates.set(name, known)
    return known
  }
  return {
    begun,
    gate,
    call: (name: string) =>
      Effect.suspend(() => {
        begun.push(name)
        return Effect.as(gate(name).await, name)
      }),
    until: (...names: ReadonlyArray<string>) =>
      Effect.sync(() => names.every((name) => begun.includes(name))).pipe(
        Effect.repeat({ until: (all) => all, schedule: Schedule.spaced("10 millis") }),
      ),
  }
}

describeDatabases("workers during a shutdown", (database) => {
  it.live("finish running calls, begin no others, and leave the rest to the next process", () => {
    const { begun, call, gate, until } = calls()
    const program: Program = (context) =>
      Effect.gen(function* () {
        const both = yield* Effect.all(
          [
            Effect.andThen(text(context, "short", call("short")), text(context, "next", call("next"))),
            text(context, "long", call("long")),
          ],
          { concurrency: "unbounded" },
        )
        return answer([...both, yield* text(context, "last", call("last"))].join())
      })
    return Effect.gen(function* () {
      const layer = yield* database.create
      const first = yield* start(gateway(layer, program))
      const made = yield* use(first.context, enqueueOne())
      yield* until("short", "long")
      const draining = yield* Effect.forkChild(use(first.context, drain))
      yield* use(
        first.context,
        Drain.use(({ begun }) => begun),
      )
      yield* gate("short").open
      yield* Effect.repeat(use(first.context, get(made)), {
        until: (job) => stepsOf(job).includes("short completed"),
        schedule: Schedule.spaced("10 millis"),
      })
      // While a call runs, nothing is put back, and no attempt to do so is seen.
      yield* Effect.sleep("200 millis")
      assert.deepStrictEqual(seen(yield* use(first.context, get(made))), {
        status: "running",
        attempt: 1,
        steps: ["short completed"],
      })
      yield* gate("long").open
      yield* Fiber.join(draining)
      assert.deepStrictEqual(seen(yield* use(first.context, get(made))), {
        status: "queued",
        attempt: 1,
        steps: ["short completed", "long completed"],
      })
      assert.deepStrictEqual(begun, ["short", "long"])
      yield* first.stop

      yield* gate("next").open
      yield* gate("last").open
      const second = yield* start(gateway(layer, program))
      const done = yield* use(second.context, ended(made.tenant, made.job))
      assert.deepStrictEqual(done.result, answer("next,long,last"))
      assert.strictEqual(done.attempt, 1)
      assert.deepStrictEqual(begun, ["short", "long", "next", "last"])
    })
  })

  it.live("end a job during its last call, and take no other", () => {
    const { begun, call, gate, until } = calls()
    const program: Program = (context) => Effect.map(text(context, "only", call(String(context.task))), answer)
    return Effect.gen(function* () {
      const layer = yield* database.create
      const { context } = yield* start(gateway(layer, program, { workers: 2 }))
      const { agent, tenant } = yield* use(context, makeAgent())
      const jobs = yield* use(context, Jobs)
      const under = yield* jobs.enqueue(tenant, agent.id, { task: "under way" })
      yield* until("under way")
      const draining = yield* Effect.forkChild(use(context, drain))
      yield* use(
        context,
        Drain.use(({ begun }) => begun),
      )
      const late = yield* jobs.enqueue(tenant, agent.id, { task: "late" })
      yield* gate("late").open
      yield* gate("under way").open
      yield* Fiber.join(draining)
      assert.strictEqual((yield* jobs.get(tenant, under.id)).status, "completed")
      // A claim that was under way when the shutdown began may have taken it, and has put it back.
      assert.strictEqual((yield* jobs.get(tenant, late.id)).status, "queued")
      // Later ones are not even taken to be put back at once.
      const later = yield* jobs.enqueue(tenant, agent.id, { task: "late" })
      // Several times as long as an idle worker takes to look for work on its own.
      yield* Effect.sleep("300 millis")
      const untouched = yield* jobs.get(tenant, later.id)
      assert.deepStrictEqual([untouched.status, untouched.started_at], ["queued", undefined])
      assert.deepStrictEqual(begun, ["under way"])
    })
  })

  it.live("interrupt jobs that outlast the grace period, and put them back", () => {
    const { begun, call, gate, until } = calls()
    const program: Program = (context) => Effect.map(text(context, "only", call("only")), answer)
    return Effect.gen(function* () {
      const layer = yield* database.create
      const first = yield* start(gateway(layer, program, {}, Duration.millis(100)))
      const made = yield* use(first.context, enqueueOne())
      yield* until("only")
      yield* use(first.context, drain)
      assert.deepStrictEqual(seen(yield* use(first.context, get(made))), { status: "queued", attempt: 1, steps: [] })
      yield* first.stop
      yield* gate("only").open
      const second = yield* start(gateway(layer, program))
      assert.strictEqual((yield* use(second.context, ended(made.tenant, made.job))).status, "completed")
      assert.deepStrictEqual(begun, ["only", "only"])
    })
  })

  it.live("put a job back at once if its first step would begin after the shutdown", () => {
    const { begun, call } = calls()
    let shutDown: () => void = () => undefined
    const program: Program = (context) =>
      Effect.andThen(
        Effect.sync(() => shutDown()),
        Effect.map(text(context, "only", call("only")), answer),
      )
    return Effect.gen(function* () {
      const { context } = yield* start(gateway(yield* database.create, program, {}, Duration.minutes(1)))
      const drained = yield* Deferred.make<void>()
      shutDown = () => void Effect.runForkWith(context)(Effect.andThen(drain, Deferred.succeed(drained, undefined)))
      const made = yield* use(context, enqueueOne())
      // Well below the grace period.
      yield* withinTurns("4 seconds")(Deferred.await(drained))
      assert.deepStrictEqual(seen(yield* use(context, get(made))), { status: "queued", attempt: 1, steps: [] })
      assert.deepStrictEqual(begun, [])
    })
  })

  it.live("stop at once if they are idle", () =>
    Effect.gen(function* () {
      const { context } = yield* start(gateway(yield* database.create, () => Effect.succeed(answer("x"))))
      yield* withinTurns("2 seconds")(use(context, drain))
    }),
  )
})
