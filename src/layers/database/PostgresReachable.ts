/** Checks that Postgres answers and takes writes: at start, to explain a failure, and later, for the log. */
import { Duration, Effect, Layer, Redacted, Schedule, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { READ_ONLY, sqlState, sqlStateReason } from "../../domain/problems/postgresErrors.ts"
import { connectionReason, systemCode } from "../../domain/problems/systemErrors.ts"
import { isReadOnly, readOnly } from "../../services/readOnly.ts"
import { logChanges } from "../logChanges.ts"

const TIMEOUT = "Timeout"

const wordsOf = (reason: string): string => {
  if (reason === TIMEOUT) return "there was no answer in time"
  const state = sqlState({ code: reason })
  return state === undefined ? connectionReason({ code: reason }) : (sqlStateReason(state) ?? `it refuses (${state})`)
}

export class DatabaseUnreachable extends Schema.TaggedError<DatabaseUnreachable>()("DatabaseUnreachable", {
  /** Its address, without user and password. */
  place: Schema.String,
  /** The kind of failure: an error code of the system or of Postgres (`ECONNREFUSED`, `28P01`), or its name. */
  reason: Schema.String,
}) {
  override get message(): string {
    return (
      `The database at ${this.place} cannot be used: ${wordsOf(this.reason)}. ` +
      "Check that it runs, and DATABASE_URL: host, port, user, password and name of the database."
    )
  }
}

/** How long a start waits for a database that starts at the same time. */
const PATIENCE = Duration.seconds(10)
const RETRY_EVERY = Duration.millis(500)
/** Postgres' codes for failures that pass: it has no connection left, is starting up or shutting down. */
const PASSING: ReadonlySet<string> = new Set(["53300", "57P01", "57P02", "57P03"])

const mayPass = (error: SqlError.SqlError): boolean =>
  error.reason._tag === "ConnectionError" || PASSING.has(sqlState(error) ?? "")

const placeOf = (url: Redacted.Redacted): string => {
  const { host, pathname } = new URL(Redacted.value(url))
  return `${host}${pathname}`
}

const reasonOf = ({ reason }: SqlError.SqlError): string => sqlState(reason) ?? systemCode(reason) ?? reason._tag

interface Failure {
  readonly reason: string
  readonly mayPass: boolean
}

/**
 * Whether the session is read-only. Ends a read-only session, so that the pool opens another: after a failover, old
 * sessions may lead to the former primary.
 */
const look = (sql: SqlClient.SqlClient): Effect.Effect<boolean, SqlError.SqlError> =>
  Effect.tap(isReadOnly(sql), (isSo) =>
    isSo
      ? // Fails if it ends the session.
        Effect.ignore(sql`SELECT pg_terminate_backend(pg_backend_pid()) WHERE ${readOnly(sql)} = 'on'`)
      : Effect.void,
  )

const ISOLATION = "read committed"

/** Warns if the default isolation level makes Postgres refuse concurrent statements, whose requests would fail. */
const warnOfIsolation = Effect.fnUntraced(function* (place: string) {
  const sql = yield* SqlClient.SqlClient
  const [{ level } = { level: ISOLATION }] = yield* sql<{ level: string }>`
    SELECT current_setting('default_transaction_isolation') AS level`
  if (level === ISOLATION) return
  yield* Effect.logWarning(
    `The database at ${place} begins transactions as ${level}, so requests at the same time can fail. ` +
      `For the user in DATABASE_URL, run ALTER ROLE … SET default_transaction_isolation = '${ISOLATION}'.`,
  )
})

/** The interval and time limit of checks after the start. */
const LOOK_EVERY = Duration.seconds(5)

const watch = Effect.fnUntraced(function* (place: string, every: Duration.Input) {
  const sql = yield* SqlClient.SqlClient
  const answers = logChanges(
    (reason: string) => Effect.logError(`The database at ${place} does not answer: ${wordsOf(reason)}`),
    Effect.logInfo(`The database at ${place} is back`),
  )
  const writes = logChanges(
    (reason: string) => Effect.logError(`The database at ${place} cannot be written: ${wordsOf(reason)}`),
    Effect.logInfo(`The database at ${place} can be written again`),
  )
  const check = look(sql).pipe(
    Effect.mapError(reasonOf),
    Effect.timeoutOrElse({ duration: every, orElse: () => Effect.fail(TIMEOUT) }),
    Effect.matchEffect({
      onFailure: answers.lost,
      onSuccess: (isSo) => Effect.andThen(answers.back, isSo ? writes.lost(READ_ONLY) : writes.back),
    }),
  )
  return yield* Effect.forever(Effect.andThen(Effect.sleep(every), check))
})

/** Fails unless the database answers and takes writes; waits a while for one that is starting, and then keeps checking. */
export const layerPostgresReachable = (options: {
  readonly url: Redacted.Redacted
  readonly patience?: Duration.Input | undefined
  readonly lookEvery?: Duration.Input | undefined
}): Layer.Layer<never, DatabaseUnreachable, SqlClient.SqlClient> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { lookEvery = LOOK_EVERY, patience = PATIENCE } = options
      const place = placeOf(options.url)
      let hasWarned = false
      const warnOnce = (failure: Failure) => {
        if (hasWarned || !failure.mayPass) return Effect.void
        hasWarned = true
        const limit = Duration.format(Duration.fromInputUnsafe(patience))
        return Effect.logWarning(`waiting up to ${limit} for the database at ${place}: ${wordsOf(failure.reason)}`)
      }
      yield* SqlClient.SqlClient.use(look).pipe(
        Effect.mapError((error): Failure => ({ reason: reasonOf(error), mayPass: mayPass(error) })),
        Effect.filterOrFail(
          (isSo) => !isSo,
          (): Failure => ({ reason: READ_ONLY, mayPass: true }),
        ),
        Effect.tapError(warnOnce),
        Effect.retry({
          while: (failure) => failure.mayPass,
          schedule: Schedule.spaced(RETRY_EVERY).pipe(Schedule.upTo({ duration: patience })),
        }),
        Effect.mapError(({ reason }) => new DatabaseUnreachable({ place, reason })),
      )
      yield* Effect.ignore(warnOfIsolation(place))
      yield* Effect.forkScoped(watch(place, lookEvery))
    }),
  )
