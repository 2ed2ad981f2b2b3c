import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Logger, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { layerPostgresClient } from "../../src/layers/database/PostgresClient.ts"
import { layerSqliteClient } from "../../src/layers/database/SqliteClient.ts"
import { unavailable } from "../../src/services/storedRows.ts"
import { postgresIsThere, postgresSchema } from "../support/databases.ts"

describe("a database that fails", () => {
  it.live.runIf(postgresIsThere)(
    "in the middle of a transaction is reported as unavailable, even if the rollback fails too",
    () =>
      Effect.gen(function* () {
        const url = yield* postgresSchema
        const layer = layerPostgresClient({ url: Redacted.make(url), maxConnections: 1 })
        const broken = SqlClient.SqlClient.use((sql) =>
          sql.withTransaction(sql`SELECT pg_terminate_backend(pg_backend_pid())`),
        )
        const error = yield* Effect.flip(Effect.provide(unavailable(broken), layer))
        assert.strictEqual(error._tag, "StorageUnavailable")
      }),
  )

  it.live("because its disk is full says so in the log, once", () =>
    Effect.gen(function* () {
      const logged: Array<unknown> = []
      const logger = Logger.make(({ logLevel, message }) => void (logLevel === "Error" && logged.push(message)))
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE things (text TEXT)`
      yield* sql`PRAGMA max_page_count = 10`
      for (let times = 0; times < 2; times++) {
        const error = yield* Effect.flip(unavailable(sql`INSERT INTO things VALUES (${"x".repeat(100_000)})`)).pipe(
          Effect.provide(Logger.layer([logger])),
        )
        assert.strictEqual(error._tag, "StorageUnavailable")
      }
      assert.deepStrictEqual(logged.flat(), ["The database failed: the disk is full (the file of DATABASE_URL)"])
    }).pipe(Effect.provide(layerSqliteClient({ filename: ":memory:" }))),
  )

  it.effect("leaves other failures and faults as they are", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* Effect.flip(unavailable(Effect.fail("other"))), "other")
      const fault = yield* Effect.exit(unavailable(Effect.die("fault")))
      assert.isTrue(Exit.isFailure(fault) && Cause.hasDies(fault.cause))
    }),
  )
})
