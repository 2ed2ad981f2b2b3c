/** Whether the database refuses writes, as Postgres does on a standby, and as its operator or provider sets it. */
import { Effect } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"

/** SQL: `on` if so. An embedded database fails instead. */
export const readOnly = (sql: SqlClient.SqlClient): Statement.Fragment =>
  sql.onDialectOrElse({
    pg: () => sql.literal("current_setting('transaction_read_only')"),
    orElse: () => sql.literal("'off'"),
  })

export const isReadOnly = (sql: SqlClient.SqlClient): Effect.Effect<boolean, SqlError.SqlError> =>
  Effect.map(sql<{ state: string }>`SELECT ${readOnly(sql)} AS state`, ([row]) => row?.state === "on")
