import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Latch, Redacted, Schedule } from "effect"
import { layerPostgres } from "../../../src/layers/database/Database.ts"
import { Jobs } from "../../../src/services/jobs/Jobs.ts"
import {
  cutConnections,
  listeningConnections,
  postgres,
  postgresIsThere,
  postgresSchema,
} from "../../support/databases.ts"
import {
  answer,
  ended,
  enqueueOne,
  gateway,
  makeAgent,
  type Program,
  services,
  start,
  stepsOf,
  text,
  use,
} from "../../support/jobs.ts"
import { withinTurns } from "../../support/withinTurns.ts"

describe.skipIf(!postgresIsThere)("several processes on one Postgres", () => {
  it.live("share the work, and do each job once", () =>
    Effect.gen(function* () {
      const layer = yield* postgres.create
      const ran: Array<string> = []
      const busy = new Set<string>()
      const bothAreBusy = yield* Latch.make()
      /** Waits until both processes work, or the first could do everything before the second looks. */
      const program =
        (name: string): Program =>
        (context) =>
          Effect.gen(function* () {
            ran.push(context.jobId)
            if (busy.add(name).size === 2) yield* bothAreBusy.open
            yield* bothAreBusy.await
            return answer(name)
          })
      const one = yield* start(gateway(layer, program("one"), { workers: 2 }))
      yield* start(gateway(layer, program("two"), { workers: 2 }))
      const { agent, tenant } = yield* use(one.context, makeAgent())
      const jobs = yield* use(one.context, Jobs)
      const all = yield* Effect.forEach(
        Array.from({ length: 40 }),
        () => jobs.enqueue(tenant, agent.id, { task: "x" }),
        { concurrency: 5 },
      )
      const done = yield* Effect.forEach(all, (job) => jobs.wait(tenant, job.id, "10 seconds"))
      const by = new Set(done.map((job) => job.result?.answer))
      assert.deepStrictEqual([...by].sort(), ["one", "two"])
      assert.strictEqual(ran.length, 40)
      assert.strictEqual(new Set(ran).size, 40)
    }),
  )

  it.live("continue after the server cuts their connections, listening ones included", () =>
    Effect.gen(function* () {
      const url = yield* postgresSchema
      const layer = layerPostgres({ url: Redacted.make(url), maxConnections: 3 })
      const running = yield* Latch.make()
      const go = yield* Latch.make()
      const one = yield* start(
        gateway(layer, (context) =>
          Effect.gen(function* () {
            yield* text(context, "before", Effect.succeed("x"))
            yield* running.open
            yield* go.await
            yield* text(context, "after", Effect.succeed("x"))
            return answer("done")
          }),
        ),
      )
      const other = yield* start(services(layer))
      const { job, tenant } = yield* use(one.context, enqueueOne())
      yield* running.await
      const waits = yield* Latch.make()
      const jobs = yield* use(other.context, Jobs)
      const waiting = yield* Effect.forkChild(
        jobs.wait(tenant, job.id, "20 seconds", Effect.andThen(waits.open, Effect.never)),
      )
      // A query that is on its way when its connection is cut fails, as it should.
      yield* waits.await
      yield* cutConnections(url)
      yield* Effect.repeat(listeningConnections(url), {
        until: (count) => count === 2,
        schedule: Schedule.spaced("50 millis"),
      })
      yield* go.open
      const done = yield* withinTurns("3 seconds")(Fiber.join(waiting))
      assert.strictEqual(done.status, "completed")
      assert.deepStrictEqual(stepsOf(done), ["before completed", "after completed"])
    }),
  )

  it.live("interrupt a job that another process cancels, and see each other's ended jobs", () =>
    Effect.gen(function* () {
      const layer = yield* postgres.create
      const running = yield* Latch.make()
      const interrupted = yield* Latch.make()
      yield* start(
        gateway(layer, () => Effect.onInterrupt(Effect.andThen(running.open, Effect.never), () => interrupted.open)),
      )
      const other = yield* start(services(layer))
      const third = yield* start(services(layer))
      const { job, tenant } = yield* use(other.context, enqueueOne())
      yield* running.await
      const waiting = yield* Effect.forkChild(use(third.context, ended(tenant, job)))
      yield* Effect.sleep("100 millis")
      yield* use(
        other.context,
        Jobs.use((jobs) => jobs.cancel(tenant, job.id)),
      )
      yield* withinTurns("4 seconds")(interrupted.await)
      const seen = yield* withinTurns("4 seconds")(Fiber.join(waiting))
      assert.strictEqual(seen.status, "cancelled")
    }),
  )
})
