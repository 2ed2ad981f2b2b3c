/** Checks that Postgres answers: at start, to explain a failure, and later, for the log. */
import { Duration, Effect, Layer, Predicate, Redacted, Schedule, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { connectionReason } from "../../domain/problems/systemErrors.ts"
import { logChanges } from "../logChanges.ts"

/** Postgres' error codes at start, in words. */
const REFUSALS: Readonly<Record<string, string>> = {
  "28P01": "it refuses the user or the password",
  "28000": "it refuses the user",
  "3D000": "it has no database of that name",
  "42501": "the user lacks a right that is needed",
  "53300": "it has no connection left",
  "57P03": "it is starting up or shutting down",
}

const TIMEOUT = "Timeout"

const wordsOf = (reason: string): string => {
  if (reason === TIMEOUT) return "there was no answer in time"
  if (/^[0-9A-Z]{5}$/.test(reason)) return `${REFUSALS[reason] ?? "it refuses"} (${reason})`
  return connectionReason({ code: reason })
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
/** Postgres' code for a server that is starting up or shutting down. */
const CANNOT_CONNECT_NOW = "57P03"

const codeOf = (error: unknown): string | undefined => {
  if (!Predicate.isObject(error)) return undefined
  const below = "cause" in error ? codeOf(error.cause) : undefined
  return below ?? ("code" in error && typeof error.code === "string" ? error.code : undefined)
}

const mayPass = ({ reason }: SqlError.SqlError): boolean =>
  reason._tag === "ConnectionError" || codeOf(reason) === CANNOT_CONNECT_NOW

const placeOf = (url: Redacted.Redacted): string => {
  const { host, pathname } = new URL(Redacted.value(url))
  return `${host}${pathname}`
}

const reasonOf = ({ reason }: SqlError.SqlError): string => codeOf(reason) ?? reason._tag

/** The interval and time limit of checks after the start. */
const LOOK_EVERY = Duration.seconds(5)

const watch = Effect.fnUntraced(function* (place: string, every: Duration.Input) {
  const sql = yield* SqlClient.SqlClient
  const { back, lost } = logChanges(
    (reason: string) => Effect.logError(`The database at ${place} does not answer: ${wordsOf(reason)}`),
    Effect.logInfo(`The database at ${place} is back`),
  )
  const look = sql`SELECT 1`.pipe(
    Effect.mapError(reasonOf),
    Effect.timeoutOrElse({ duration: every, orElse: () => Effect.fail(TIMEOUT) }),
    Effect.matchEffect({ onFailure: lost, onSuccess: () => back }),
  )
  return yield* Effect.forever(Effect.andThen(Effect.sleep(every), look))
})

/** Fails unless the database answers; waits a while for one that is starting, and then keeps checking. */
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
      const warnOnce = (error: SqlError.SqlError) => {
        if (hasWarned || !mayPass(error)) return Effect.void
        hasWarned = true
        const limit = Duration.format(Duration.fromInputUnsafe(patience))
        return Effect.logWarning(`waiting up to ${limit} for the database at ${place}: ${wordsOf(reasonOf(error))}`)
      }
      yield* SqlClient.SqlClient.use((sql) => sql`SELECT 1`).pipe(
        Effect.tapError(warnOnce),
        Effect.retry({
          while: mayPass,
          schedule: Schedule.spaced(RETRY_EVERY).pipe(Schedule.upTo({ duration: patience })),
        }),
        Effect.mapError((error) => new DatabaseUnreachable({ place, reason: reasonOf(error) })),
      )
      yield* Effect.forkScoped(watch(place, lookEvery))
    }),
  )
