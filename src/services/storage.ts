/** What services that keep rows share. */
import { Effect, Schema } from "effect"
import { SqlError } from "effect/sql"
import { StorageUnavailable } from "../domain/storage.ts"

/**
 * The failures of a database as callers see them. What the database said stays out of the error and out of the log,
 * because it quotes keys and rows.
 */
export const unavailable = <A, E, R>(
  effect: Effect.Effect<A, E | SqlError.SqlError, R>,
): Effect.Effect<A, Exclude<E, SqlError.SqlError> | StorageUnavailable, R> =>
  Effect.catch(effect, (error): Effect.Effect<never, Exclude<E, SqlError.SqlError> | StorageUnavailable> => {
    // The check removes the one member that the type removes.
    if (!SqlError.isSqlError(error)) return Effect.fail(error as Exclude<E, SqlError.SqlError>)
    const reason = error.reason._tag
    return Effect.andThen(
      Effect.logError(`The database failed: ${reason}`),
      Effect.fail(new StorageUnavailable({ reason })),
    )
  })

/**
 * Decodes rows that this product wrote. One that does not decode is a defect, and its message names the table only:
 * a decoding error quotes the row.
 */
export const decodeRows = <A, I>(table: string, schema: Schema.Codec<A, I>) => {
  const decode = Schema.decodeUnknownEffect(Schema.Array(schema))
  return (rows: ReadonlyArray<unknown>): Effect.Effect<ReadonlyArray<A>> =>
    Effect.catch(decode(rows), () => Effect.die(new Error(`A row of "${table}" is not what this version writes.`)))
}

/** Encodes a value that was checked before, into what is stored. */
export const encodeRow = <A, I>(table: string, schema: Schema.Codec<A, I>) => {
  const encode = Schema.encodeEffect(schema)
  return (value: A): Effect.Effect<I> =>
    Effect.catch(encode(value), () => Effect.die(new Error(`A value for "${table}" cannot be stored.`)))
}
