/** Empty schemas that tests hand on to each other. */
import { Effect, Exit, Layer, Redacted, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { layerPostgres } from "../../src/layers/database/Database.ts"
import { ledgerCalls } from "../../src/layers/database/migrations/ledger_calls.ts"
import { admin, createSchema, dropSchema, endSessions, RUN, urlOf } from "./postgres.ts"

const MIGRATIONS = "sealgate_migrations"

/** A schema's tables, indexes and columns, and the migrations applied to it. */
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

/** The URL of an empty schema, which may be up to date already: creating a new one takes three times as long. */
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

/** Drops the schemas of a run whose names begin with `prefix`. */
export const dropSchemas = (prefix: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const schemas = yield* sql<{ name: string }>`
      SELECT nspname AS name FROM pg_namespace WHERE starts_with(nspname, ${prefix})`
    for (const { name } of schemas) yield* sql`DROP SCHEMA ${sql(name)} CASCADE`
  }).pipe(admin, Effect.orDie)
