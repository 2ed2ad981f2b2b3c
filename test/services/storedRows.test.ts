import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Logger, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { layerPostgresClient } from "../../src/layers/database/PostgresClient.ts"
import { layerSqliteClient } from "../../src/layers/database/SqliteClient.ts"
import { logWorkerFault } from "../../src/services/jobs/attemptLog.ts"
import { givenRows, unavailable } from "../../src/services/storedRows.ts"
import { postgresIsThere, postgresSchema } from "../support/databases.ts"
import { POSTGRES_URL } from "../support/postgres.ts"

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

  it.live.runIf(postgresIsThere)(
    "is logged with Postgres' code, in words if they are known, and without its message",
    () =>
      Effect.gen(function* () {
        const logged: Array<unknown> = []
        const logger = Logger.make(({ message }) => void logged.push(message))
        const sql = yield* SqlClient.SqlClient
        const fail = (code: string) =>
          sql.unsafe(`DO $$ BEGIN RAISE EXCEPTION 'canary' USING ERRCODE = '${code}'; END $$`)
        for (const code of ["53100", "58P01", "0A000"]) {
          yield* Effect.flip(unavailable(fail(code))).pipe(Effect.provide(Logger.layer([logger])))
        }
        const ended = yield* Effect.exit(fail("53200"))
        if (Exit.isFailure(ended)) yield* Effect.provide(logWorkerFault(ended.cause), Logger.layer([logger]))
        assert.deepStrictEqual(logged.flat(), [
          "The database failed: its disk is full (53100)",
          "The database failed: its system failed (58P01)",
          "The database failed: UnknownError (0A000)",
          "The database failed: it has no memory left (53200)",
        ])
      }).pipe(Effect.provide(layerPostgresClient({ url: Redacted.make(POSTGRES_URL), maxConnections: 1 }))),
  )

  it.effect("leaves other failures and faults as they are", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* Effect.flip(unavailable(Effect.fail("other"))), "other")
      const fault = yield* Effect.exit(unavailable(Effect.die("fault")))
      assert.isTrue(Exit.isFailure(fault) && Cause.hasDies(fault.cause))
    }),
  )
})

describe("rows given to a statement", () => {
  const halves = Effect.fnUntraced(function* (count: number) {
    const sql = yield* SqlClient.SqlClient
    const given = givenRows(sql, { name: "TEXT", number: "BIGINT" })
    const rows = Array.from({ length: count }, (_, i) => ({ name: `${i}`, number: i === 0 ? null : i }))
    assert.deepStrictEqual(
      yield* sql`SELECT name, number / 2 AS half FROM ${given(rows)} ORDER BY number IS NOT NULL, number`,
      rows.map(({ name, number }) => ({ name, half: number === null ? null : Math.floor(number / 2) })),
    )
  })
  const ofAnyCount = Effect.forEach([0, 1, 3, 64, 65, 200], halves, { discard: true })

  it.live("have the types of their columns on sqlite, however many they are", () =>
    Effect.provide(ofAnyCount, layerSqliteClient({ filename: ":memory:" })),
  )

  it.live.runIf(postgresIsThere)("have the types of their columns on postgres, however many they are", () =>
    Effect.scoped(
      Effect.flatMap(postgresSchema, (url) =>
        Effect.provide(ofAnyCount, layerPostgresClient({ url: Redacted.make(url), maxConnections: 1 })),
      ),
    ),
  )
})
