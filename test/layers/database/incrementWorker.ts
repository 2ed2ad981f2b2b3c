/** One of several processes on one embedded database: brings it up to date, then counts up in it. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { migrate } from "../../../src/layers/database/migrations.ts"
import { layerSqliteClient } from "../../../src/layers/database/SqliteClient.ts"

const [filename = "", times = "0"] = process.argv.slice(2)

const program = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* migrate
  yield* sql`CREATE TABLE IF NOT EXISTS counter (id INTEGER PRIMARY KEY, n INTEGER NOT NULL)`
  yield* sql`INSERT OR IGNORE INTO counter (id, n) VALUES (1, 0)`
  const increment = Effect.gen(function* () {
    const rows = yield* sql<{ n: number }>`SELECT n FROM counter WHERE id = 1`
    yield* Effect.yieldNow
    yield* sql`UPDATE counter SET n = ${(rows[0]?.n ?? 0) + 1} WHERE id = 1`
  })
  yield* Effect.repeat(sql.withTransaction(increment), { times: Number(times) - 1 })
})

await Effect.runPromise(Effect.provide(program, layerSqliteClient({ filename })))
