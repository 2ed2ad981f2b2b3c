/** The database of a running gateway, used beside it. */
import { DatabaseSync } from "node:sqlite"
import { Effect, Layer, Redacted, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { layerPostgresClient } from "../../src/layers/database/PostgresClient.ts"
import { layerSqliteClient } from "../../src/layers/database/SqliteClient.ts"
import type { TestDatabase } from "./databases.ts"

/** Opens a database as it is, without migrations. */
export const layerStored = ({ kind }: Pick<TestDatabase, "kind">, url: string): Layer.Layer<SqlClient.SqlClient> =>
  kind === "sqlite"
    ? Layer.orDie(layerSqliteClient({ filename: url }))
    : Layer.orDie(layerPostgresClient({ url: Redacted.make(url), maxConnections: 1 }))

/**
 * Runs a statement. On SQLite, tries until the gateway, which is in this process, holds no lock: waiting for it would stop it from
 * letting go.
 */
export const runBeside = ({ kind }: Pick<TestDatabase, "kind">, url: string, statement: string) =>
  kind === "sqlite"
    ? Effect.retry(
        Effect.try(() => {
          using database = new DatabaseSync(url, { timeout: 0 })
          database.exec(statement)
        }),
        Schedule.spaced("5 millis"),
      )
    : SqlClient.SqlClient.use((sql) => sql.unsafe(statement)).pipe(Effect.provide(layerStored({ kind }, url)))
