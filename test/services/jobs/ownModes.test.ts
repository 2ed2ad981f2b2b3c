/** The job of an own mode whose worker dies between two steps. */
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { JobQueue } from "../../../src/services/jobs/JobQueue.ts"
import { defineMode } from "../../../src/services/jobs/modes/own/defineMode.ts"
import { programOf } from "../../../src/services/jobs/modes/own/program.ts"
import { describeDatabases } from "../../support/databases.ts"
import { ended, enqueueOne, gateway, start, stepsOf, use } from "../../support/jobs.ts"

const unused = () => Effect.die(new Error("This mode asks no models."))
const asking = { propose: unused, converse: unused, respond: unused, examine: unused, decide: unused }
const tools = { offered: Effect.succeed([]), use: unused, call: unused }

describeDatabases("the job of an own mode", (database) => {
  it.live("goes on at another worker if its own dies, and repeats no finished step", () =>
    Effect.gen(function* () {
      const isStuck = Deferred.makeUnsafe()
      const ran: Array<string> = []
      const note = (name: string) => Effect.sync(() => void ran.push(name))
      const mode = defineMode({
        name: "triage",
        run: (job) =>
          Effect.gen(function* () {
            yield* job.step("first", Schema.Void, note("first"))
            yield* job.step(
              "second",
              Schema.Void,
              Effect.suspend(() => {
                if (ran.includes("second")) return note("second again")
                return Effect.andThen(
                  note("second"),
                  Effect.andThen(Deferred.succeed(isStuck, undefined), Effect.never),
                )
              }),
            )
            return { answer: "Sorted." }
          }),
      })
      const { context } = yield* start(gateway(database.layer, (job) => programOf(mode).run(job, asking, tools)))
      const done = yield* use(
        context,
        Effect.gen(function* () {
          const { job, tenant } = yield* enqueueOne()
          yield* Deferred.await(isStuck)
          yield* (yield* SqlClient.SqlClient)`UPDATE jobs SET due_at = 0`
          yield* (yield* JobQueue).requeueAbandoned()
          return yield* ended(tenant, job)
        }),
      )
      assert.deepInclude(done.result, { mode: "own", answer: "Sorted." })
      assert.deepStrictEqual(stepsOf(done), ["first completed", "second completed"])
      assert.deepStrictEqual(ran, ["first", "second", "second again"])
    }),
  )
})
