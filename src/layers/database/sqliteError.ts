import { SqlError } from "effect/sql"

interface NodeSqliteError extends Error {
  readonly errcode?: number
}

/** What `node:sqlite` threw, as `effect/sql` knows it. */
export const sqlError = (cause: unknown, operation: string): SqlError.SqlError => {
  // `node:sqlite` throws errors that carry SQLite's extended result code as `errcode`; the classifier reads `errno`.
  const error = cause as NodeSqliteError
  return new SqlError.SqlError({
    reason: SqlError.classifySqliteError(Object.assign(error, { errno: error.errcode }), {
      message: error.message,
      operation,
    }),
  })
}
