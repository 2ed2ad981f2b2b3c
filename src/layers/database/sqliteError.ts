import { SqlError } from "effect/sql"

interface NodeSqliteError extends Error {
  readonly errcode?: number
}

/** Converts an error of `node:sqlite` for `effect/sql`. */
export const sqlError = (cause: unknown, operation: string): SqlError.SqlError => {
  // `node:sqlite` puts SQLite's extended result code in `errcode`; the classifier reads `errno`.
  const error = cause as NodeSqliteError
  return new SqlError.SqlError({
    reason: SqlError.classifySqliteError(Object.assign(error, { errno: error.errcode }), {
      message: error.message,
      operation,
    }),
  })
}
