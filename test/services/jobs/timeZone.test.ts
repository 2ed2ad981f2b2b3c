/** The queue is independent of time zones, in which an hour comes twice when clocks go back. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { layerPostgres } from "../../../src/layers/database/Database.ts"
import { databaseTime } from "../../../src/services/databaseTime.ts"
import { Jobs } from "../../../src/services/jobs/Jobs.ts"
import { postgresDatabase, postgresIsThere } from "../../support/databases.ts"
import { answer, ended, enqueueOne, gateway, services, start, use } from "../../support/jobs.ts"

/** Puts a clock of the test's own before Postgres', in every function that the queue asks for the time. */
const ownClock = Effect.fnUntraced(function* (url: string) {
  const layer = layerPostgres({ url: Redacted.make(url), maxConnections: 2 })
  const { context } = yield* start(layer)
  const sql = yield* use(context, SqlClient.SqlClient)
  yield* sql`CREATE TABLE clock (shift INTERVAL NOT NULL)`
  yield* sql`INSERT INTO clock VALUES ('0')`
  for (const name of ["now", "clock_timestamp"]) {
    yield* sql.unsafe(`CREATE FUNCTION ${name}() RETURNS TIMESTAMPTZ LANGUAGE sql STABLE AS
      'SELECT pg_catalog.${name}() + shift FROM clock'`)
  }
  return { layer, setTo: (time: string) => sql`UPDATE clock SET shift = ${time}::TIMESTAMPTZ - pg_catalog.now()` }
})

describe.skipIf(!postgresIsThere)("a database in a zone with daylight saving time", () => {
  it.live("gives out due jobs and those of dead workers when its time zone's clocks go back", () =>
    Effect.gen(function* () {
      const url = yield* postgresDatabase({ timezone: "'Europe/Berlin'", search_path: "public, pg_catalog" })
      const clock = yield* ownClock(url)
      // 02:50 in Berlin, ten minutes before it is two o'clock again.
      yield* clock.setTo("2026-10-25T00:50:00Z")
      const before = yield* start(services(clock.layer))
      const waiting = yield* use(before.context, enqueueOne())
      const left = yield* use(before.context, enqueueOne())
      const sql = yield* use(before.context, SqlClient.SqlClient)
      yield* sql`UPDATE jobs SET status = 'running', lease = 'dead', started_at = 1,
          due_at = ${databaseTime(sql)} + 15000 WHERE id = ${left.job.id}`
      yield* before.stop

      // 02:05 in Berlin, a quarter of an hour later.
      yield* clock.setTo("2026-10-25T01:05:00Z")
      const after = yield* start(gateway(clock.layer, () => Effect.succeed(answer("x"))))
      for (const { job, tenant } of [waiting, left]) {
        assert.strictEqual((yield* use(after.context, ended(tenant, job))).status, "completed")
      }
      const jobs = yield* use(after.context, Jobs)
      assert.deepInclude(yield* jobs.queueState, { queued: 0, running: 0 })
    }),
  )
})
