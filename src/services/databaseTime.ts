/** The database's clock, in milliseconds since the epoch, because the clocks of processes may differ. */
import { Clock, Effect } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"

export const databaseTime = (sql: SqlClient.SqlClient): Statement.Fragment =>
  sql.onDialectOrElse({
    // The time of the statement: the start of the transaction is earlier if it waited for locks.
    pg: () => sql.literal("CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"),
    orElse: () => sql.literal("CAST(unixepoch('subsec') * 1000 AS INTEGER)"),
  })

/** The earlier one of this process's and the database's time. Rows are removed for good, so neither clock may be ahead. */
export const earlierTime = (sql: SqlClient.SqlClient): Effect.Effect<number, SqlError.SqlError> =>
  Effect.zipWith(Clock.currentTimeMillis, sql<{ now: number }>`SELECT ${databaseTime(sql)} AS now`, (here, [row]) =>
    Math.min(here, row?.now ?? here),
  )
