/**
 * The schema, in steps that are applied in order and each once, in one transaction, whichever process comes first.
 * One SQL text serves both databases: ids and JSON are `TEXT`, times `BIGINT` milliseconds since the epoch, money
 * `BIGINT` millionths of a US dollar.
 */
import { Effect } from "effect"
import { Migrator, SqlClient } from "effect/sql"
import { agents } from "./migrations/agents.ts"
import { jobs } from "./migrations/jobs.ts"
import { ledgerCalls } from "./migrations/ledger_calls.ts"
import { routingConfigs } from "./migrations/routing_configs.ts"

const statements = (...texts: ReadonlyArray<string>) =>
  SqlClient.SqlClient.use((sql) => Effect.forEach(texts, (text) => sql.unsafe(text), { discard: true }))

/** Append only from the first release on: a step that was released is never edited, because databases have it. */
export const migrations = {
  "0001_agents": statements(...agents),
  "0002_jobs": statements(...jobs),
  "0003_routing_configs": statements(...routingConfigs),
  "0004_ledger_calls": statements(...ledgerCalls),
}

/** Brings the database up to date. Several processes may do so at once: one applies the steps, the others wait. */
export const migrate = Migrator.make({})({ loader: Migrator.fromRecord(migrations), table: "sealgate_migrations" })
