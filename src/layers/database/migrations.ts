/**
 * The schema, in steps that are applied in order, once each, in one transaction of the first process. One SQL text serves both
 * databases: ids and JSON are `TEXT`, times `BIGINT` milliseconds since the epoch, money `BIGINT` millionths of a US dollar.
 */
import { createHash } from "node:crypto"
import { Duration, Effect, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { sqlState } from "../../domain/problems/postgresErrors.ts"
import { connectionReason } from "../../domain/problems/systemErrors.ts"
import { knownReason } from "../../services/storedRows.ts"
import { agents } from "./migrations/agents.ts"
import { budgets } from "./migrations/budgets.ts"
import { gatewayKeys } from "./migrations/gatewayKeys.ts"
import { jobs } from "./migrations/jobs.ts"
import { ledgerCalls } from "./migrations/ledger_calls.ts"
import { ledgerSpend } from "./migrations/ledgerSpend.ts"
import { pushConfigs } from "./migrations/pushConfigs.ts"
import { routingConfigs } from "./migrations/routing_configs.ts"
import { schedules } from "./migrations/schedules.ts"
import { secrets } from "./migrations/secrets.ts"
import { threads } from "./migrations/threads.ts"
import { webhooks } from "./migrations/webhooks.ts"

/** A version with a different schema made the database. */
export class SchemaUnknown extends Schema.TaggedError<SchemaUnknown>()("SchemaUnknown", {
  steps: Schema.Array(Schema.String),
}) {
  override get message(): string {
    return (
      `The database was made by another version of sealgate: its schema differs in ${this.steps.join(", ")}. ` +
      "Start the version that made it, or give this one another database (DATABASE_URL)."
    )
  }
}

/** The database does not let this process create or change the tables. */
export class MigrationRefused extends Schema.TaggedError<MigrationRefused>()("MigrationRefused", {
  reason: Schema.String,
}) {
  override get message(): string {
    return `The tables in the database cannot be created or changed (DATABASE_URL): ${this.reason}.`
  }
}

const MAY_NOT = "the user may not create or use them: GRANT CREATE ON SCHEMA public to it, or make it their owner"

/** Words for SQLSTATEs of migrations, where those for any statement would not help. */
const REFUSALS: Readonly<Record<string, string>> = {
  // Without the right to use any schema of the search path, Postgres sees none.
  "3F000": MAY_NOT,
  "42501": MAY_NOT,
  "42P07": "one of the same name is there already; give sealgate a database of its own",
  "55P03":
    "another session holds them, such as a back-up (pg_dump) or another gateway that starts; start again after it",
}

const TABLE = "sealgate_migrations"

/** Append only from the first release on: databases have the released steps, so these are never edited. */
const STEPS = [
  ["agents", agents],
  ["jobs", jobs],
  ["routing_configs", routingConfigs],
  ["ledger_calls", ledgerCalls],
  ["gateway_keys", gatewayKeys],
  ["budgets", budgets],
  ["ledger_spend", ledgerSpend],
  ["secrets", secrets],
  ["webhooks", webhooks],
  ["threads", threads],
  ["schedules", schedules],
  ["push_configs", pushConfigs],
] as const

/** Stored form of the steps: a name and a hash of the SQL, which tells whether a database has the same step. */
export const migrations = STEPS.map(([name, texts], index) => ({
  id: index + 1,
  name: `${name} ${createHash("sha256").update(texts.join(";")).digest("hex").slice(0, 16)}`,
  texts,
}))

/** How long Postgres waits for a lock, unless the operator has set a limit. */
const LOCK_TIMEOUT = "30s"
/** A start that waits longer logs the reason. */
const SILENT = Duration.seconds(2)

const reportWaiting = Effect.sleep(SILENT).pipe(
  Effect.andThen(
    Effect.logWarning(
      "still preparing the database's tables; a back-up (pg_dump) or another gateway that starts may hold them",
    ),
  ),
  Effect.andThen(Effect.never),
)

/** Runs in a transaction whose waits for locks are limited and logged. */
const transaction = <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>) =>
  SqlClient.SqlClient.use((sql) =>
    sql
      .onDialectOrElse({
        pg: () =>
          Effect.asVoid(
            sql`SELECT set_config('lock_timeout', ${LOCK_TIMEOUT}, true) WHERE current_setting('lock_timeout') = '0'`,
          ),
        orElse: () => Effect.void,
      })
      .pipe(Effect.andThen(effect), sql.withTransaction, Effect.raceFirst(reportWaiting)),
  )

/** How many steps are applied. Fails if this version lacks one of them. */
const appliedSteps = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql.onDialectOrElse({
    pg: () => sql`SELECT 1 WHERE to_regclass(${TABLE}) IS NOT NULL`,
    orElse: () => sql`SELECT 1 FROM sqlite_master WHERE name = ${TABLE}`,
  })
  if (tables.length === 0) return 0
  const applied = yield* sql<{ migration_id: number; name: string }>`
    SELECT migration_id, name FROM ${sql(TABLE)} ORDER BY migration_id`
  const unknown = applied.filter(({ migration_id, name }) => migrations[migration_id - 1]?.name !== name)
  const steps = unknown.map(({ name }) => name.replace(/ [0-9a-f]+$/, ""))
  return steps.length > 0 ? yield* new SchemaUnknown({ steps }) : applied.length
})

/** Applies the missing steps. Another process that starts waits for its turn, and finds them applied. */
const apply = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.onDialectOrElse({
    // One at a time in each schema. SQLite has one writer.
    pg: () => Effect.asVoid(sql`SELECT pg_advisory_xact_lock(hashtextextended(${TABLE} || current_schema(), 0))`),
    orElse: () => Effect.void,
  })
  yield* sql`CREATE TABLE IF NOT EXISTS ${sql(TABLE)} (
    migration_id INTEGER PRIMARY KEY,
    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    name TEXT NOT NULL
  )`
  yield* sql.onDialectOrElse({
    // Waits here if a back-up holds the lock: waiting for another table would block the statements of running gateways.
    pg: () => Effect.asVoid(sql`LOCK TABLE ${sql(TABLE)} IN ACCESS EXCLUSIVE MODE`),
    orElse: () => Effect.void,
  })
  for (const { id, name, texts } of migrations.slice(yield* appliedSteps)) {
    yield* Effect.forEach(texts, (text) => sql.unsafe(text), { discard: true })
    yield* sql`INSERT INTO ${sql(TABLE)} ${sql.insert({ migration_id: id, name })}`
  }
})

const reasonOf = (error: SqlError.SqlError): string | undefined =>
  REFUSALS[sqlState(error) ?? ""] ??
  knownReason(error) ??
  (error.reason._tag === "ConnectionError" ? connectionReason(error) : undefined)

/**
 * Brings the schema up to date. If it is, no lock is taken that a back-up would hold up. Fails with `SchemaUnknown` if the
 * database has a step that this version lacks.
 */
export const migrate = Effect.gen(function* () {
  if ((yield* transaction(appliedSteps)) < migrations.length) yield* transaction(apply)
}).pipe(
  Effect.catchTag("SqlError", (error) => {
    const reason = reasonOf(error)
    return Effect.fail(reason === undefined ? error : new MigrationRefused({ reason }))
  }),
)
