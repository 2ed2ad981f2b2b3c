/** Whether there is a Postgres to start on, so that a start that cannot succeed says why. */
import { Duration, Effect, Layer, Predicate, Redacted, Schedule, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

/** The database that the configuration names cannot be used. */
export class DatabaseUnreachable extends Schema.TaggedError<DatabaseUnreachable>()("DatabaseUnreachable", {
  /** Where it should be, without user and password. */
  place: Schema.String,
  /** What kind of failure it is: an error code of the system or of Postgres (`ECONNREFUSED`, `28P01`), or its name. */
  reason: Schema.String,
}) {
  override get message(): string {
    return (
      `The database at ${this.place} cannot be used (${this.reason}). ` +
      "Check that it runs, and DATABASE_URL: host, port, user, password and name of the database."
    )
  }
}

/** How long a start waits for a database that starts at the same time. */
const PATIENCE = Duration.seconds(10)
const RETRY_EVERY = Duration.millis(500)
/** Postgres' code for a server that is starting up or shutting down. */
const CANNOT_CONNECT_NOW = "57P03"

/** The code at the bottom of what went wrong. */
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

/** Fails unless the database answers; waits a while for one that may be about to. */
export const layerPostgresReachable = (options: {
  readonly url: Redacted.Redacted
  readonly patience?: Duration.Input | undefined
}): Layer.Layer<never, DatabaseUnreachable, SqlClient.SqlClient> =>
  Layer.effectDiscard(
    SqlClient.SqlClient.use((sql) => sql`SELECT 1`).pipe(
      Effect.retry({
        while: mayPass,
        schedule: Schedule.spaced(RETRY_EVERY).pipe(Schedule.upTo({ duration: options.patience ?? PATIENCE })),
      }),
      Effect.mapError(
        ({ reason }) => new DatabaseUnreachable({ place: placeOf(options.url), reason: codeOf(reason) ?? reason._tag }),
      ),
    ),
  )
