/** What services that keep rows share. */
import { Cause, Clock, Duration, Effect, type Schedule, Schema } from "effect"
import { type SqlClient, SqlError, type Statement } from "effect/sql"
import { isObject } from "../domain/json/json.ts"
import { sqliteReason } from "../domain/problems/systemErrors.ts"
import { StorageUnavailable } from "../domain/operations/storage.ts"

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
      : failWith(reasonOf(error))
  })

/** What operators are told: in words where the file or its disk is the cause, so that they know what to mend. */
const reasonOf = ({ reason }: SqlError.SqlError): string => {
  const { cause } = reason
  const code = isObject(cause) && typeof cause["errcode"] === "number" ? cause["errcode"] : 0
  const words = sqliteReason(code)
  return words === undefined ? reason._tag : `${words} (the file of DATABASE_URL)`
}

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

/** A database that does not answer in time has failed, too. */
export const inTime = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | StorageUnavailable, R> =>
  Effect.timeoutOrElse(effect, { duration: PATIENCE, orElse: () => failWith("Timeout") })

/** The failures of what a caller waits for. */
export const unavailable = <A, E, R>(
  effect: Effect.Effect<A, E | SqlError.SqlError, R>,
): Effect.Effect<A, Exclude<E, SqlError.SqlError> | StorageUnavailable, R> => inTime(unavailableUnlimited(effect))

/** `Effect.retry` for what hardly ever fails: its schedule begins with the first failure, and costs nothing before. */
export const retryAfterFailure = <A, E, R, Out>(
  effect: Effect.Effect<A, E, R>,
  schedule: Schedule.Schedule<Out, E>,
): Effect.Effect<A, E, R> =>
  Effect.catch(effect, (error) => {
    let isFirst = true
    const again = Effect.suspend((): Effect.Effect<A, E, R> => {
      if (!isFirst) return effect
      isFirst = false
      return Effect.fail(error)
    })
    return Effect.retry(again, schedule)
  })

/**
 * JSON that this product wrote itself: what it holds was checked when it came in, so it is read as it is. Checking a
 * conversation again costs more than everything else about its row. Only for what JSON holds as it is (`Codec<A, A>`).
 */
export const storedJson = <A>(_schema: Schema.Codec<A, A>): Schema.Codec<A, string> =>
  // What is parsed is what was stringified, which is of this schema.
  Schema.fromJsonString(Schema.Unknown) as unknown as Schema.Codec<A, string>

const jsonCodecs = new WeakMap<object, object>()

/** JSON of what a schema describes: one codec for each schema, because one that is made anew is compiled anew. */
export const jsonOf = <A, I>(schema: Schema.Codec<A, I>): Schema.Codec<A, string> => {
  // It was made of this schema.
  const known = jsonCodecs.get(schema) as Schema.Codec<A, string> | undefined
  const codec = known ?? Schema.fromJsonString(schema)
  if (known === undefined) jsonCodecs.set(schema, codec)
  return codec
}

/**
 * Rows as one parameter, so that a statement reads the same however many there are, and is prepared once. `columns` says
 * what each row has, with its type in SQL, first a text that no row lacks; in the statement they are columns of `given`.
 */
export const givenRows = <Columns extends Readonly<Record<string, "TEXT" | "BIGINT">>>(
  sql: SqlClient.SqlClient,
  columns: Columns,
) => {
  const names = Object.keys(columns)
  const typed = sql.literal(names.map((name) => `${name} ${columns[name]}`).join(", "))
  // Postgres' planner takes this for one row of two hundred, and so looks up by an index what is joined to each row. Planned
  // for the hundred rows that it expects otherwise, on a table that was small then, a statement reads all of it as it grows.
  const always = sql.literal(`${names[0]} = ${names[0]} || ''`)
  const read = sql.literal(names.map((name) => `value ->> '${name}' AS ${name}`).join(", "))
  return (rows: ReadonlyArray<{ readonly [Name in keyof Columns]: string | number | null }>): Statement.Fragment => {
    const json = JSON.stringify(rows)
    return sql.onDialectOrElse({
      pg: () => sql`(SELECT * FROM json_to_recordset(${json}::text::json) AS given(${typed}) WHERE ${always}) AS given`,
      orElse: () => sql`(SELECT ${read} FROM json_each(${json})) AS given`,
    })
  }
}

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
