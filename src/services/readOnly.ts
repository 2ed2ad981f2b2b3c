/** Whether the database refuses writes: Postgres does on a standby, or if its operator or provider sets it read-only. */
import { Effect } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"

/** SQL: `on` if the session is read-only. An embedded database fails instead. */
export const readOnly = (sql: SqlClient.SqlClient): Statement.Fragment =>
  sql.onDialectOrElse({
    pg: () => sql.literal("current_setting('transaction_read_only')"),
    orElse: () => sql.literal("'off'"),
  })

export const isReadOnly = (sql: SqlClient.SqlClient): Effect.Effect<boolean, SqlError.SqlError> =>
  Effect.map(sql<{ state: string }>`SELECT ${readOnly(sql)} AS state`, ([row]) => row?.state === "on")
