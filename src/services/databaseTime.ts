/**
 * The database's clock, in milliseconds since the epoch: many processes, whose clocks may differ, decide whether a job
 * is due.
 */
import type { SqlClient, Statement } from "effect/sql"

export const databaseTime = (sql: SqlClient.SqlClient): Statement.Fragment =>
  sql.onDialectOrElse({
    // Not the start of the transaction, which may have waited for locks.
    pg: () => sql.literal("CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"),
    orElse: () => sql.literal("CAST(unixepoch('subsec') * 1000 AS INTEGER)"),
  })
