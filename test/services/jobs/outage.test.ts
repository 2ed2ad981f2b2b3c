/** A job whose worker cannot reach the database for longer than a lease. */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Latch, Redacted, Schedule } from "effect"
import { layerPostgres } from "../../../src/layers/database/Database.ts"
import { answer, ended, enqueueOne, gateway, start, stepsOf, text, use } from "../../support/jobs.ts"
import { postgresCanStart, privatePostgres } from "../../support/privatePostgres.ts"
/** The first connections after a restart may still be the broken ones. */
const LOOK_AGAIN = Schedule.spaced("100 millis")

describe.runIf(postgresCanStart)("a job whose worker loses the database", () => {
  it.live("is stopped after a lease, and resumed once the database is back", () =>
    Effect.gen(function* () {
      const postgres = yield* privatePostgres
      const layer = layerPostgres({ url: Redacted.make(postgres.url), maxConnections: 4 })
      const running = yield* Latch.make()
      const releaseBytes = yield* Latch.make()
      let runs = 0
      const { context } = yield* start(
        gateway(
          layer,
          (job) =>
            Effect.gen(function* () {
              runs += 1
              yield* text(job, "before", Effect.succeed("x"))
              yield* running.open
              if (runs === 1) return yield* Effect.onInterrupt(Effect.never, () => releaseBytes.open)
              return answer("done")
            }),
          { lease: Duration.seconds(4), leaseRefresh: Duration.seconds(1) },
        ),
      )
      const { job, tenant } = yield* use(context, enqueueOne())
      yield* running.await
      yield* postgres.stop("immediate")
      yield* releaseBytes.await
      yield* postgres.start
      const done = yield* Effect.retry(use(context, ended(tenant, job)), { schedule: LOOK_AGAIN, times: 50 })
      assert.strictEqual(done.status, "completed")
      assert.deepStrictEqual(stepsOf(done), ["before completed"])
    }),
  )
})
