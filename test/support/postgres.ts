/** The Postgres of the tests: its address, and what tests ask of it beside their own sessions. */
import { Effect, Layer, RcRef, Redacted, Scope } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient, type SqlError } from "effect/sql"
import { layerPostgresClient } from "../../src/layers/database/PostgresClient.ts"

export const POSTGRES_URL =
  process.env["TEST_DATABASE_URL"] ?? process.env["DATABASE_URL"] ?? "postgres://postgres@127.0.0.1:5432/test"

/**
 * Shared by all tests of a process, because connections cost Postgres more than most of what tests do with them. It ends
 * a second after its last use, so that programs can end.
 */
const administration = Effect.runSync(
  RcRef.make({
    acquire: Layer.build(layerPostgresClient({ url: Redacted.make(POSTGRES_URL), maxConnections: 1 })),
    idleTimeToLive: "1 second",
  }).pipe(Scope.provide(Scope.makeUnsafe())),
)

/** Runs on its own, because the clock of a test may stand still. */
export const admin = <A, E>(
  effect: Effect.Effect<A, E, SqlClient.SqlClient>,
): Effect.Effect<A, E | SqlError.SqlError> =>
  Effect.flatten(
    Effect.promise(() =>
      Effect.runPromiseExit(
        Effect.scoped(
          Effect.flatMap(RcRef.get(administration), (connection) => Effect.provideContext(effect, connection)),
        ),
      ),
    ),
  )

/** Names of schemas begin with this in a run of tests that removes them at its end. */
export const RUN = process.env["TEST_SCHEMAS"]

export const createSchema = Effect.gen(function* () {
  const schema = `${RUN ?? "sealgate_"}${SecureRandom.uuidV7Unsafe().replaceAll("-", "")}`
  yield* Effect.orDie(admin(SqlClient.SqlClient.use((sql) => sql`CREATE SCHEMA ${sql(schema)}`)))
  return schema
})
export const dropSchema = (schema: string) =>
  Effect.orDie(admin(SqlClient.SqlClient.use((sql) => sql`DROP SCHEMA ${sql(schema)} CASCADE`)))

export const urlOf = (schema: string): string => {
  const url = new URL(POSTGRES_URL)
  url.searchParams.set("application_name", schema)
  // No test stops this server, so commits need not wait for the disk.
  const session = [`search_path=${schema}`, "client_min_messages=warning", "synchronous_commit=off"]
  url.searchParams.set("options", session.map((setting) => `-c ${setting}`).join(" "))
  // A test's clock may jump by days and would expire this before a connection exists.
  url.searchParams.set("connect_timeout", "0")
  return url.toString().replaceAll("+", "%20")
}

/** Ends the sessions of a schema's tests, and waits for their end. */
export const endSessions = (schema: string | null) =>
  SqlClient.SqlClient.use(
    (sql) => sql`SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = ${schema}`,
  )
