/** Compares the cost of a job in an empty database and in one with a million ledger calls and 100,000 ended jobs. */
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { layerPostgres, layerSqlite } from "../../src/layers/database/Database.ts"
import { postgresDatabase, postgresIsThere, sqliteFile } from "../../test/support/databases.ts"
import type { Case } from "../harness/Case.ts"
import { compare } from "../harness/compare.ts"
import { startLoad } from "../harness/Load.ts"
import { runGateway, runServer, VERDICT } from "../harness/servers.ts"

const LANES = 16
const CALLS = 1_000_000
const JOBS = 100_000

/** Inserts rows as a gateway leaves them: ten calls and three steps per job. */
const fill = Effect.fnUntraced(function* (calls: number, jobs: number) {
  const sql = yield* SqlClient.SqlClient
  const numbers = (count: number) =>
    sql`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${sql.literal(String(count - 1))})`
  const now = Date.now()
  yield* sql`${numbers(jobs)} INSERT INTO jobs (id, tenant, agent_id, agent, agent_version, mode, status, due_at, attempt,
      crashes, faults, ran_ms, last_event, task, options, metadata, result, traceparent, created_at, started_at,
      finished_at, expires_at)
    SELECT 'job-' || i, 'tenant-' || (i % 20), 'agent', '{}', 1, 'adversarial', 'completed', 0, 1, 0, 0, 1000, 3,
      '"What is a seal?"', '{}', '{}', '{}', '', ${now}, ${now}, ${now}, ${now + 86_400_000} FROM n`
  yield* sql`${numbers(3 * jobs)} INSERT INTO job_steps (job_id, event, name, step, status, outcome, started_at, finished_at)
    SELECT 'job-' || (i / 3), i % 3 + 1, 'step-' || (i % 3), '{}', 'completed', '"x"', ${now}, ${now} FROM n`
  yield* sql`${numbers(calls)} INSERT INTO ledger_calls (id, at, request_id, first_of_request, tenant, job_id, agent_id,
      mode, strategy, role, provider, model, cost, charged_tokens, charged_cost, baseline, latency_ms, outcome)
    SELECT 'call-' || i, ${now} - i * 2000, 'call-' || i, 1, 'tenant-' || (i % 20), 'job-' || (i / 10), 'agent',
      'adversarial', 'cost', 'proposer', 'provider1', 'm', 1, 1, 1, 2, 1000, 'success' FROM n`
  yield* sql`ANALYZE`
})

export const full: Case = {
  name: "full",
  title: `Jobs beside ${CALLS.toLocaleString("en")} calls in the ledger and ${JOBS.toLocaleString("en")} ended jobs`,
  unit: "a job",
  run: async (bench) => {
    if (!postgresIsThere) throw new Error("There is no Postgres to measure on: set TEST_DATABASE_URL.")
    const upstream = await bench.use(runServer("upstream", { ANSWER: VERDICT }))
    const start = async (kind: "SQLite" | "Postgres", isFull: boolean) => {
      const database = await bench.use(kind === "SQLite" ? sqliteFile : postgresDatabase({}))
      const layer =
        kind === "SQLite" ? layerSqlite({ filename: database }) : layerPostgres({ url: Redacted.make(database) })
      const rows = isFull ? fill(bench.count(CALLS, CALLS / 100), bench.count(JOBS, JOBS / 100)) : Effect.void
      await Effect.runPromise(Effect.provide(rows, layer))
      const server = await bench.use(runGateway(database, upstream))
      const load = await bench.use(startLoad("jobs", server.jobs))
      return { subject: `${kind}, ${isFull ? "full" : "empty"}`, pid: server.pid, load }
    }
    const subjects = [
      await start("SQLite", false),
      await start("SQLite", true),
      await start("Postgres", false),
      await start("Postgres", true),
    ]
    const { measures, ratio } = await compare(bench, LANES, subjects)
    const figure = (kind: string) => ({
      what: `CPU of a job on ${kind}, full to empty`,
      unit: "×",
      value: ratio(`${kind}, full`, `${kind}, empty`, "cpu"),
      atMost: 1.1,
    })
    return { measures, figures: [figure("SQLite"), figure("Postgres")] }
  },
}
