/** Starts on a Postgres whose tables a back-up holds, and on one that refuses to create them. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Latch, Logger, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { failureMessage } from "../../../src/cli/failureMessage.ts"
import { layerPostgres } from "../../../src/layers/database/Database.ts"
import { migrations } from "../../../src/layers/database/migrations.ts"
import { layerPostgresClient } from "../../../src/layers/database/PostgresClient.ts"
import { postgresDatabase, postgresIsThere } from "../../support/databases.ts"
import { postgresCanStart, privatePostgres, runOn } from "../../support/privatePostgres.ts"

/** Opens a database as a gateway does, and runs a statement. */
const open = (url: string, text: string) =>
  SqlClient.SqlClient.use((sql) => sql.unsafe(text)).pipe(
    Effect.provide(layerPostgres({ url: Redacted.make(url) }), { local: true }),
  )

/** Holds tables as `pg_dump` does, until `release`. */
const hold = Effect.fnUntraced(function* (url: string) {
  const held = yield* Latch.make()
  const release = yield* Latch.make()
  const holding = yield* SqlClient.SqlClient.use((sql) =>
    sql`LOCK TABLE sealgate_migrations, webhook_deliveries IN ACCESS SHARE MODE`.pipe(
      Effect.andThen(held.open),
      Effect.andThen(release.await),
      sql.withTransaction,
    ),
  ).pipe(Effect.provide(layerPostgresClient({ url: Redacted.make(url) }), { local: true }), Effect.forkScoped)
  yield* held.await
  return { release: Effect.andThen(release.open, Fiber.join(holding)) }
})

/** Makes a database that lacks the last step. */
const withoutLastStep = Effect.fnUntraced(function* (url: string) {
  yield* open(url, "DROP TABLE push_configs")
  yield* open(url, "ALTER TABLE webhook_deliveries DROP COLUMN context_id, DROP COLUMN sealed")
  yield* open(url, "DELETE FROM sealgate_migrations WHERE migration_id = 12")
})

describe.runIf(postgresIsThere)("a start while a back-up reads the tables", () => {
  it.live("waits for no lock if the tables are up to date", () =>
    Effect.gen(function* () {
      // A start that waited would fail.
      const url = yield* postgresDatabase({ lock_timeout: "'500ms'" })
      yield* open(url, "SELECT 1")
      yield* hold(url)
      assert.deepStrictEqual(
        (yield* open(url, "SELECT 1 AS one")).map((row) => ({ ...row })),
        [{ one: 1 }],
      )
    }),
  )

  it.live("fails with the likely holder of the lock if a step is missing and the lock is not released", () =>
    Effect.gen(function* () {
      const url = yield* postgresDatabase({ lock_timeout: "'500ms'" })
      yield* withoutLastStep(url)
      yield* hold(url)
      const error = yield* Effect.flip(open(url, "SELECT 1"))
      assert.include(failureMessage(error), "another session holds them, such as a back-up (pg_dump)")
    }),
  )

  it.live("blocks no reader of the tables while it waits for the back-up", () =>
    Effect.gen(function* () {
      const url = yield* postgresDatabase({})
      yield* withoutLastStep(url)
      const { release } = yield* hold(url)
      const starting = yield* Effect.forkScoped(open(url, "SELECT 1"))
      const waiting = `SELECT 1 FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
        WHERE datname = current_database() AND NOT granted`
      yield* Effect.repeat(runOn(url, waiting), { until: ([rows]) => rows?.length !== 0 })
      // Fails at once if it would wait.
      const read = "LOCK TABLE webhook_deliveries IN ACCESS SHARE MODE NOWAIT"
      yield* runOn(url, `DO $$ BEGIN ${read}; END $$`)
      yield* release
      yield* Fiber.join(starting)
    }),
  )

  it.live("says that it waits, and goes on once the lock is released", () =>
    Effect.gen(function* () {
      const url = yield* postgresDatabase({})
      yield* withoutLastStep(url)
      const { release } = yield* hold(url)
      const warned = yield* Deferred.make<string>()
      const logger = Logger.make(({ logLevel, message }) => {
        if (logLevel === "Warn") Deferred.doneUnsafe(warned, Effect.succeed(String(message)))
      })
      const starting = yield* Effect.forkScoped(
        Effect.provide(open(url, "SELECT name FROM sealgate_migrations"), Logger.layer([logger])),
      )
      assert.include(yield* Deferred.await(warned), "a back-up (pg_dump) or another gateway that starts may hold them")
      yield* release
      assert.lengthOf(yield* Fiber.join(starting), migrations.length)
    }),
  )
})

const guestOf = (url: string) => Object.assign(new URL(url), { username: "guest" }).toString()

describe.runIf(postgresCanStart)("a first start on a Postgres that refuses to create the tables", () => {
  it.live("says what to do", () =>
    Effect.gen(function* () {
      const { url } = yield* privatePostgres
      const refusal = (as: string) => Effect.map(Effect.flip(open(as, "SELECT 1")), failureMessage)
      yield* runOn(url, "CREATE ROLE guest LOGIN", "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
      assert.include(yield* refusal(guestOf(url)), "GRANT CREATE ON SCHEMA public")
      yield* runOn(url, "REVOKE ALL ON SCHEMA public FROM PUBLIC")
      assert.include(yield* refusal(guestOf(url)), "GRANT CREATE ON SCHEMA public")
      yield* runOn(url, "CREATE TABLE jobs (id TEXT)")
      assert.include(yield* refusal(url), "a database of its own")
    }),
  )
})
