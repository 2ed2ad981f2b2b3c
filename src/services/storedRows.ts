/** Errors, codecs and SQL shared by the services that store rows. */
import { Cause, Clock, Duration, Effect, Record, Schema } from "effect"
import { type SqlClient, SqlError, type Statement } from "effect/sql"
import type { KeyLimits } from "../domain/access/identity.ts"
import { isObject } from "../domain/json/json.ts"
import { sqlState, sqlStateReason } from "../domain/problems/postgresErrors.ts"
import { sqliteReason } from "../domain/problems/systemErrors.ts"
import { StorageUnavailable } from "../domain/operations/storage.ts"

/** An unavailable database fails every request. Failures of one kind are logged once within this time. */
const LOG_EVERY = Duration.seconds(10)
const loggedAt = new Map<string, number>()

/** Logs a failure by its reason. */
export const databaseFailed = (reason: string): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const since = now - (loggedAt.get(reason) ?? -Infinity)
    const isNew = since < 0 || since >= Duration.toMillis(LOG_EVERY)
    if (isNew) loggedAt.set(reason, now)
    return Effect.logWithLevel(isNew ? "Error" : "Debug")(`The database failed: ${reason}`)
  })

/** Time limit of a query or transaction. */
const PATIENCE = Duration.seconds(5)

const failWith = (reason: string) => Effect.andThen(databaseFailed(reason), Effect.fail(new StorageUnavailable()))

/** Maps database failures to `StorageUnavailable`, without the database's message, which quotes keys and rows. */
export const unavailableUnlimited = <A, E, R>(
  effect: Effect.Effect<A, E | SqlError.SqlError, R>,
): Effect.Effect<A, Exclude<E, SqlError.SqlError> | StorageUnavailable, R> =>
  Effect.catchCause(effect, (cause): Effect.Effect<never, Exclude<E, SqlError.SqlError> | StorageUnavailable> => {
    const error = sqlErrorOf(cause)
    // The check removes the only member that the type removes.
    return error === undefined
      ? Effect.failCause(cause as Cause.Cause<Exclude<E, SqlError.SqlError>>)
      : failWith(databaseReason(error))
  })

/** The reason in words, if server, file or disk is the cause. */
export const knownReason = ({ reason }: SqlError.SqlError): string | undefined => {
  const state = sqlState(reason)
  if (state !== undefined) return sqlStateReason(state)
  const { cause } = reason
  const words = isObject(cause) && typeof cause["errcode"] === "number" ? sqliteReason(cause["errcode"]) : undefined
  return words === undefined ? undefined : `${words} (the file of DATABASE_URL)`
}

/** The reason for the log: in words if they are known, otherwise the kind, such as `ConnectionError`, with Postgres' code. */
export const databaseReason = (error: SqlError.SqlError): string => {
  const state = sqlState(error)
  return knownReason(error) ?? (state === undefined ? error.reason._tag : `${error.reason._tag} (${state})`)
}

/** The database failure in a cause, if nothing else failed: a rollback that fails too becomes a defect. */
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

/** Whether a row with the same unique columns is already there. */
export const isDuplicate = ({ reason }: SqlError.SqlError): boolean =>
  reason._tag === "UniqueViolation" || reason._tag === "ConstraintError"

export const inTime = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | StorageUnavailable, R> =>
  Effect.timeoutOrElse(effect, { duration: PATIENCE, orElse: () => failWith("Timeout") })

export const unavailable = <A, E, R>(
  effect: Effect.Effect<A, E | SqlError.SqlError, R>,
): Effect.Effect<A, Exclude<E, SqlError.SqlError> | StorageUnavailable, R> => inTime(unavailableUnlimited(effect))

/** JSON that was validated before it was stored, parsed without validation; only for schemas `Codec<A, A>`. */
export const storedJson = <A>(_schema: Schema.Codec<A, A>): Schema.Codec<A, string> =>
  // The stored text was made from a value of this schema.
  Schema.fromJsonString(Schema.Unknown) as unknown as Schema.Codec<A, string>

const jsonCodecs = new WeakMap<object, object>()

/** Codec for JSON of a schema, cached because each new codec is compiled again. */
export const jsonOf = <A, I>(schema: Schema.Codec<A, I>): Schema.Codec<A, string> => {
  // Stored below under this schema.
  const known = jsonCodecs.get(schema) as Schema.Codec<A, string> | undefined
  const codec = known ?? Schema.fromJsonString(schema)
  if (known === undefined) jsonCodecs.set(schema, codec)
  return codec
}

/** Maximum number of rows that the embedded database gets as values: a statement is prepared for each number of rows. */
const MOST_VALUES = 64

/**
 * Passes rows to a statement. `columns` names the columns of `given` and their SQL types; the first must be a text that is
 * never null. Postgres gets them as one parameter, so that a statement is prepared once for any number of rows. The embedded
 * database would read members of a JSON three times as slowly as values: a tenth of the CPU time of a call of a model.
 */
export const givenRows = <Columns extends Readonly<Record<string, "TEXT" | "BIGINT">>>(
  sql: SqlClient.SqlClient,
  columns: Columns,
) => {
  const names = Object.keys(columns)
  const typed = sql.literal(names.map((name) => `${name} ${columns[name]}`).join(", "))
  // Makes Postgres's planner expect few rows, so that it joins by index. It would otherwise expect a hundred, and a plan made
  // while the table is small would scan the whole table as it grows.
  const always = sql.literal(`${names[0]} = ${names[0]} || ''`)
  const members = sql.literal(names.map((name) => `value ->> '${name}' AS ${name}`).join(", "))
  // The driver passes every number as a float.
  const values = names.map((name, i) => {
    const value = `column${i + 1}`
    return `${columns[name] === "BIGINT" ? `CAST(${value} AS INTEGER)` : value} AS ${name}`
  })
  const placeholders = `(${names.map(() => "?").join(", ")})`
  return (rows: ReadonlyArray<{ readonly [Name in keyof Columns]: string | number | null }>): Statement.Fragment =>
    sql.onDialectOrElse({
      pg: () =>
        sql`(SELECT * FROM json_to_recordset(${JSON.stringify(rows)}::text::json) AS given(${typed}) WHERE ${always}) AS given`,
      orElse: () =>
        rows.length === 0 || rows.length > MOST_VALUES
          ? sql`(SELECT ${members} FROM json_each(${JSON.stringify(rows)})) AS given`
          : sql.unsafe(
              `(SELECT ${values.join(", ")} FROM (VALUES ${rows.map(() => placeholders).join(", ")})) AS given`,
              rows.flatMap((row) => names.map((name) => row[name])),
            ),
    })
}

/** SQL: locks a query's rows, skips locked ones. `NO KEY UPDATE` lets others refer to them. SQLite has one writer. */
export const skipLocked = (sql: SqlClient.SqlClient, strength: "UPDATE" | "NO KEY UPDATE"): Statement.Fragment =>
  sql.onDialectOrElse({ pg: () => sql.literal(`FOR ${strength} SKIP LOCKED`), orElse: () => sql`` })

/** SQL: whether the caller's key permits the agent. Precedes `LIMIT`, else the cursor would reveal other agents. */
export const permitted = (
  sql: SqlClient.SqlClient,
  column: "id" | "agent_id",
  agents: KeyLimits["agents"],
): Statement.Fragment => (agents === undefined ? sql`TRUE` : sql.in(column, agents))

type Value = string | number | null

/** The columns of a table, each with its SQL type and its value for an item. */
export type Columns<Item> = Readonly<Record<string, readonly [type: "TEXT" | "BIGINT", of: (item: Item) => Value]>>

const rowOf = <Item>(columns: Columns<Item>, item: Item): Readonly<Record<string, Value>> =>
  Record.map(columns, ([, of]) => of(item))

/** Like `givenRows`, for items and their columns. */
export const givenItems = <Item>(sql: SqlClient.SqlClient, columns: Columns<Item>) => {
  const given = givenRows(
    sql,
    Record.map(columns, ([type]) => type),
  )
  return (items: ReadonlyArray<Item>): Statement.Fragment => given(items.map((item) => rowOf(columns, item)))
}

/** Decodes stored rows. A row that does not decode is a defect that names only the table, because decoding errors quote rows. */
export const decodeRows = <A, I>(table: string, schema: Schema.Codec<A, I>) => {
  const decode = Schema.decodeUnknownEffect(Schema.Array(schema))
  return (rows: ReadonlyArray<unknown>): Effect.Effect<ReadonlyArray<A>> =>
    Effect.catch(decode(rows), () => Effect.die(new Error(`A row of "${table}" is not what this version writes.`)))
}

export const encodeRow = <A, I>(table: string, schema: Schema.Codec<A, I>) => {
  const encode = Schema.encodeEffect(schema)
  return (value: A): Effect.Effect<I> =>
    Effect.catch(encode(value), () => Effect.die(new Error(`A value for "${table}" cannot be stored.`)))
}
