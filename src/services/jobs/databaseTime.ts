/**
 * The database's clock, in milliseconds since the epoch: when a job is due is decided by many processes, whose own clocks
 * may differ.
 */
import type { SqlClient, Statement } from "effect/sql"

export const databaseTime = (sql: SqlClient.SqlClient): Statement.Fragment =>
  sql.onDialectOrElse({
    // This is not the beginning of the transaction, which may have waited for locks.
    pg: () => sql.literal("CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"),
    orElse: () => sql.literal("CAST(unixepoch('subsec') * 1000 AS INTEGER)"),
  })
