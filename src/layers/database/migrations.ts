/**
 * The schema, in steps that are applied in order, once each, in one transaction of the first process. One SQL text serves both
 * databases: ids and JSON are `TEXT`, times `BIGINT` milliseconds since the epoch, money `BIGINT` millionths of a US dollar.
 */
import { createHash } from "node:crypto"
import { Effect, Schema } from "effect"
import { Migrator, SqlClient } from "effect/sql"
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
  run: SqlClient.SqlClient.use((sql) => Effect.forEach(texts, (text) => sql.unsafe(text), { discard: true })),
}))

/** Names of applied steps that this version does not have. */
const unknownSteps = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const applied = yield* sql<{ migration_id: number; name: string }>`
    SELECT migration_id, name FROM ${sql(TABLE)} ORDER BY migration_id`
  return applied
    .filter(({ migration_id, name }) => migrations[migration_id - 1]?.name !== name)
    .map(({ name }) => name.replace(/ [0-9a-f]+$/, ""))
})

/** In the migrator's transaction, so that nothing is applied on top of an unknown schema. */
const loader = Effect.gen(function* () {
  const steps = yield* Effect.orDie(unknownSteps)
  if (steps.length > 0) return yield* new Migrator.MigrationError({ kind: "BadState", message: steps.join() })
  return migrations.map(({ id, name, run }): Migrator.ResolvedMigration => [id, name, Effect.succeed(run)])
})

/** If several processes start at once, one applies the steps. Fails with `SchemaUnknown` if this version lacks one. */
export const migrate = Effect.catchIf(
  Migrator.make({})({ loader, table: TABLE }),
  (error): error is Migrator.MigrationError => error._tag === "MigrationError" && error.kind === "BadState",
  (error) => Effect.fail(new SchemaUnknown({ steps: error.message.split(",") })),
)
