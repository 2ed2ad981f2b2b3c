/** Runs a suite on both databases. Postgres comes from the environment; without one its tests are skipped with a notice. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe } from "@effect/vitest"
import { Effect, Exit, Layer, Redacted, type Scope } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { type DatabaseLayer, layerPostgres, layerSqlite } from "../../src/layers/database/Database.ts"
import { emptyPostgres } from "./emptyPostgres.ts"
import { admin, createSchema, dropSchema, endSessions, POSTGRES_URL, urlOf } from "./postgres.ts"

const CONNECTIONS = 5

export interface TestDatabase {
  readonly kind: "sqlite" | "postgres"
  /** A layer that opens an empty database. It can be opened repeatedly, until the scope closes. */
  readonly create: Effect.Effect<DatabaseLayer, never, Scope.Scope>
  /** An empty database, open. */
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

/** The URL of a new schema. */
export const postgresSchema: Effect.Effect<string, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(createSchema, dropSchema),
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

/** How many connections to a schema of tests listen for notifications, which they check after `LISTEN`. */
export const listeningConnections = (url: string) =>
  SqlClient.SqlClient.use(
    (sql) =>
      sql<{ count: number }>`SELECT COUNT(*)::int AS count FROM pg_stat_activity
        WHERE application_name = ${new URL(url).searchParams.get("application_name")} AND (query LIKE 'LISTEN %' OR query LIKE 'SHOW %') AND state = 'idle'`,
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
