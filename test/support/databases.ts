/** Runs a suite on both databases. Postgres comes from the environment; without one its tests are skipped with a notice. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe } from "@effect/vitest"
import { Effect, Exit, Layer, RcRef, Redacted, Scope } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient, type SqlError } from "effect/sql"
import { type DatabaseLayer, layerPostgres, layerSqlite } from "../../src/layers/database/Database.ts"
import { ledgerCalls } from "../../src/layers/database/migrations/ledger_calls.ts"
import { layerPostgresClient } from "../../src/layers/database/PostgresClient.ts"

const POSTGRES_URL =
  process.env["TEST_DATABASE_URL"] ?? process.env["DATABASE_URL"] ?? "postgres://postgres@127.0.0.1:5432/test"
const CONNECTIONS = 5

export interface TestDatabase {
  readonly kind: "sqlite" | "postgres"
  /** A layer that opens a new, empty database; it can be opened repeatedly and is removed with the scope. */
  readonly create: Effect.Effect<DatabaseLayer, never, Scope.Scope>
  /** A new, empty database, open. */
  readonly layer: DatabaseLayer
}

const testDatabase = (kind: TestDatabase["kind"], create: TestDatabase["create"]): TestDatabase => ({
  kind,
  create,
  layer: Layer.unwrap(create),
})

/** A file in a new folder. */
export const sqliteFile: Effect.Effect<string, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "sealgate-"))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true })),
  ),
  (folder) => join(folder, "gateway.db"),
)

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
const admin = <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>): Effect.Effect<A, E | SqlError.SqlError> =>
  Effect.flatten(
    Effect.promise(() =>
      Effect.runPromiseExit(
        Effect.scoped(
          Effect.flatMap(RcRef.get(administration), (connection) => Effect.provideContext(effect, connection)),
        ),
      ),
    ),
  )

/** The URL of a new database, whose sessions begin with `settings`. */
export const postgresDatabase = (
  settings: Readonly<Record<string, string>>,
): Effect.Effect<string, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.gen(function* () {
        const name = `sealgate_${SecureRandom.uuidV7Unsafe().replaceAll("-", "")}`
        const sql = yield* SqlClient.SqlClient
        yield* sql`CREATE DATABASE ${sql(name)}`
        for (const [setting, value] of Object.entries(settings)) {
          yield* sql`ALTER DATABASE ${sql(name)} SET ${sql.literal(`${setting} = ${value}`)}`
        }
        return name
      }).pipe(admin, Effect.orDie),
      (name) =>
        SqlClient.SqlClient.use((sql) => sql`DROP DATABASE ${sql(name)} WITH (FORCE)`).pipe(admin, Effect.orDie),
    ),
    (name) => Object.assign(new URL(POSTGRES_URL), { pathname: name }).toString(),
  )

const MIGRATIONS = "sealgate_migrations"

/** Names of schemas begin with this in a run of tests that removes them at its end. */
const RUN = process.env["TEST_SCHEMAS"]

const createSchema = Effect.gen(function* () {
  const schema = `${RUN ?? "sealgate_"}${SecureRandom.uuidV7Unsafe().replaceAll("-", "")}`
  yield* Effect.orDie(admin(SqlClient.SqlClient.use((sql) => sql`CREATE SCHEMA ${sql(schema)}`)))
  return schema
})
const dropSchema = (schema: string) =>
  Effect.orDie(admin(SqlClient.SqlClient.use((sql) => sql`DROP SCHEMA ${sql(schema)} CASCADE`)))

const urlOf = (schema: string): string => {
  const url = new URL(POSTGRES_URL)
  url.searchParams.set("application_name", schema)
  // No test stops this server, so commits need not wait for the disk.
  const session = [`search_path=${schema}`, "client_min_messages=warning", "synchronous_commit=off"]
  url.searchParams.set("options", session.map((setting) => `-c ${setting}`).join(" "))
  // A test's clock may jump by days and would expire this before a connection exists.
  url.searchParams.set("connect_timeout", "0")
  return url.toString().replaceAll("+", "%20")
}

/** The URL of a new schema. */
export const postgresSchema: Effect.Effect<string, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(createSchema, dropSchema),
  urlOf,
)

/** Drops the schemas of a run whose names begin with `prefix`. */
export const dropSchemas = (prefix: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const schemas = yield* sql<{ name: string }>`
      SELECT nspname AS name FROM pg_namespace WHERE starts_with(nspname, ${prefix})`
    for (const { name } of schemas) yield* sql`DROP SCHEMA ${sql(name)} CASCADE`
  }).pipe(admin, Effect.orDie)

const endSessions = (schema: string | null) =>
  SqlClient.SqlClient.use(
    (sql) => sql`SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = ${schema}`,
  )

/** What a schema has but for its rows, and the rows of its migrations. */
const structureOf = (schema: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const columns =
      yield* sql`SELECT relname, attname, atttypid FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
      WHERE relnamespace = ${schema}::regnamespace AND attnum > 0 ORDER BY relname, attnum`
    const isMigrated = columns.some(({ relname }) => relname === MIGRATIONS)
    const steps = isMigrated
      ? yield* sql`SELECT migration_id, name FROM ${sql(schema)}.${sql(MIGRATIONS)} ORDER BY 1`
      : []
    return JSON.stringify([columns, steps])
  }).pipe(admin, Effect.orDie)

/** Removes all rows but those that migrations insert. */
const emptySchema = (schema: string) =>
  SqlClient.SqlClient.use((sql) =>
    sql.unsafe(`DO $$ DECLARE used RECORD; BEGIN
      PERFORM set_config('search_path', '${schema}', true);
      FOR used IN SELECT oid::regclass AS name, pg_relation_size(oid) AS bytes FROM pg_class
        WHERE relnamespace = '${schema}'::regnamespace AND relkind = 'r' AND relname <> '${MIGRATIONS}'
      LOOP
        IF used.bytes > 100000 THEN EXECUTE format('TRUNCATE %s CASCADE', used.name);
        ELSIF used.bytes > 0 THEN EXECUTE format('DELETE FROM %s', used.name);
        END IF;
      END LOOP;
      ${ledgerCalls.filter((text) => text.startsWith("INSERT")).join(";")};
    END $$`),
  ).pipe(admin, Effect.orDie)

/** The structure of a schema that is up to date. */
const upToDate = Effect.gen(function* () {
  const schema = yield* Effect.acquireRelease(createSchema, dropSchema)
  yield* Layer.build(layerPostgres({ url: Redacted.make(urlOf(schema)) }))
  return yield* structureOf(schema)
}).pipe(Effect.scoped, Effect.orDie, Effect.cached, Effect.runSync)

/** Schemas that are up to date and empty. */
const emptied: Array<string> = []

/** Leaves a schema to the next test if this one has succeeded and not changed its structure. */
const handOn = Effect.fnUntraced(function* (schema: string, exit: Exit.Exit<unknown, unknown>) {
  yield* Effect.orDie(admin(endSessions(schema)))
  const isUsable = RUN !== undefined && Exit.isSuccess(exit) && (yield* structureOf(schema)) === (yield* upToDate)
  if (isUsable) {
    yield* emptySchema(schema)
    emptied.push(schema)
  } else {
    yield* dropSchema(schema)
  }
})

/**
 * The URL of a schema that is new, or up to date and empty: a new one for each test takes three times as long.
 */
export const emptyPostgres: Effect.Effect<string, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.suspend(() => {
      const schema = emptied.pop()
      return schema === undefined ? createSchema : Effect.succeed(schema)
    }),
    handOn,
  ),
  urlOf,
)

export const sqlite = testDatabase(
  "sqlite",
  Effect.map(sqliteFile, (filename) => layerSqlite({ filename })),
)

export const postgres = testDatabase(
  "postgres",
  Effect.map(emptyPostgres, (url) => layerPostgres({ url: Redacted.make(url), maxConnections: CONNECTIONS })),
)

/** Cuts every connection to a schema of tests, like a restart of the server, and waits for their end. */
export const cutConnections = (url: string) =>
  Effect.orDie(admin(endSessions(new URL(url).searchParams.get("application_name"))))

/** How many connections to a schema of tests listen for notifications. */
export const listeningConnections = (url: string) =>
  SqlClient.SqlClient.use(
    (sql) =>
      sql<{ count: number }>`SELECT COUNT(*)::int AS count FROM pg_stat_activity
        WHERE application_name = ${new URL(url).searchParams.get("application_name")} AND query LIKE 'LISTEN %' AND state = 'idle'`,
  ).pipe(
    Effect.map((rows) => rows[0]?.count),
    admin,
    Effect.orDie,
  )

/** True if the Postgres of the environment answers. */
export const postgresIsThere: boolean = await Effect.runPromiseExit(
  admin(SqlClient.SqlClient.use((sql) => sql`SELECT 1`)),
).then(Exit.isSuccess)

if (!postgresIsThere) {
  console.warn(`! no Postgres at ${new URL(POSTGRES_URL).host}: its tests are skipped (set TEST_DATABASE_URL)`)
}

/** One suite, once per database. */
export const describeDatabases = (name: string, suite: (database: TestDatabase) => void): void => {
  describe(`${name} on sqlite`, () => suite(sqlite))
  describe.skipIf(!postgresIsThere)(`${name} on postgres`, () => suite(postgres))
}
