/** What services that keep rows share. */
import { Cause, Clock, Duration, Effect, Schema } from "effect"
import { SqlError } from "effect/sql"
import { StorageUnavailable } from "../domain/storage.ts"

/** A database that is away fails every request; failures of one kind within this time are told once. */
const TELL_EVERY = Duration.seconds(10)
const toldAt = new Map<string, number>()

/** Tells operators of a failure by its kind, such as `ConnectionError`. */
export const databaseFailed = (reason: string): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const since = now - (toldAt.get(reason) ?? -Infinity)
    const isNew = since < 0 || since >= Duration.toMillis(TELL_EVERY)
    if (isNew) toldAt.set(reason, now)
    return Effect.logWithLevel(isNew ? "Error" : "Debug")(`The database failed: ${reason}`)
  })

/** How long a database may take for one question or one transaction. One that hangs is as good as gone. */
const PATIENCE = Duration.seconds(5)

const failWith = (reason: string) => Effect.andThen(databaseFailed(reason), Effect.fail(new StorageUnavailable()))

/**
 * The failures of a database as callers see them. What the database said stays out of the error and out of the log,
 * because it quotes keys and rows.
 */
export const unavailableUnlimited = <A, E, R>(
  effect: Effect.Effect<A, E | SqlError.SqlError, R>,
): Effect.Effect<A, Exclude<E, SqlError.SqlError> | StorageUnavailable, R> =>
  Effect.catchCause(effect, (cause): Effect.Effect<never, Exclude<E, SqlError.SqlError> | StorageUnavailable> => {
    const error = sqlErrorOf(cause)
    // The check removes the one member that the type removes.
    return error === undefined
      ? Effect.failCause(cause as Cause.Cause<Exclude<E, SqlError.SqlError>>)
      : failWith(error.reason._tag)
  })

/**
 * What a database failed with, if nothing else went wrong. Where it fails in the middle of a transaction, undoing that
 * fails as well, and the library makes a defect of it.
 */
const sqlErrorOf = (cause: Cause.Cause<unknown>): SqlError.SqlError | undefined => {
  let found: SqlError.SqlError | undefined
  for (const reason of cause.reasons) {
    if (Cause.isInterruptReason(reason)) return undefined
    const error = Cause.isFailReason(reason) ? reason.error : reason.defect
    if (SqlError.isSqlError(error)) found ??= error
    else if (Cause.isDieReason(reason)) return undefined
  }
  return found
}

/** The same for what a caller waits for: a database that does not answer in time has failed, too. */
export const unavailable = <A, E, R>(
  effect: Effect.Effect<A, E | SqlError.SqlError, R>,
): Effect.Effect<A, Exclude<E, SqlError.SqlError> | StorageUnavailable, R> =>
  Effect.timeoutOrElse(unavailableUnlimited(effect), { duration: PATIENCE, orElse: () => failWith("Timeout") })

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
