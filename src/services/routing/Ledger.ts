/**
 * The ledger: every upstream call, with what it cost and what it would have cost at the baseline. The hourly sums are
 * kept in the transaction that writes the rows, so they are right whenever a row is visible, also after a crash.
 */
import { Array, Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { StorageUnavailable } from "../../domain/storage.ts"
import { decodeRows, unavailable } from "../storedRows.ts"
import type { CallRecord } from "./CallRecord.ts"
import { hourlySums, SUM_COLUMNS } from "./HourlySums.ts"

const sums = {
  calls: Schema.Int,
  unpriced: Schema.Int,
  input_tokens: Schema.Int,
  output_tokens: Schema.Int,
  cached_tokens: Schema.Int,
  cost: Schema.Int,
}
const Spent = Schema.Struct(sums)
/** What a job has used so far. `cost` is the known part of it; `unpriced` counts the calls whose cost is not known. */
export type Spent = typeof Spent.Type

const SpentRow = Schema.Struct({ job_id: Schema.String, ...sums })
const NOTHING_SPENT: Spent = {
  calls: 0,
  unpriced: 0,
  input_tokens: 0,
  output_tokens: 0,
  cached_tokens: 0,
  cost: 0,
}
const decodeSpent = decodeRows("ledger_calls", SpentRow)

export class Ledger extends Context.Service<
  Ledger,
  {
    /** Enters calls and adds them to the hourly sums, all or nothing; calls that are in it already are not entered again. */
    readonly record: (rows: ReadonlyArray<CallRecord>) => Effect.Effect<void, StorageUnavailable>
    /** What each of these jobs has used, over all its attempts and crashes. */
    readonly spent: (jobs: ReadonlyArray<string>) => Effect.Effect<(job: string) => Spent, StorageUnavailable>
  }
>()("sealgate/services/routing/Ledger") {
  static readonly layer = Layer.effect(
    Ledger,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const addUp = sql.literal(
        SUM_COLUMNS.map((name) => `${name} = ledger_hours.${name} + excluded.${name}`).join(", "),
      )

      const enter = Effect.fnUntraced(function* (rows: ReadonlyArray<CallRecord>) {
        const calls = rows.map(columnsOf)
        const hours = hourlySums(rows)
        if (!Array.isArrayNonEmpty(calls) || !Array.isArrayNonEmpty(hours)) return
        yield* sql`INSERT INTO ledger_calls ${sql.insert(calls)}`
        yield* sql`INSERT INTO ledger_hours ${sql.insert(hours)}
          ON CONFLICT (tenant, hour, mode, strategy, provider, model) DO UPDATE SET ${addUp}`
      }, sql.withTransaction)

      const areEntered = Effect.fnUntraced(function* (rows: ReadonlyArray<CallRecord>) {
        const ids = rows.map(({ id }) => id)
        return (yield* sql`SELECT id FROM ledger_calls WHERE id IN ${sql.in(ids)}`).length === ids.length
      })

      const record = Effect.fn("Ledger.record")(function* (rows: ReadonlyArray<CallRecord>) {
        yield* Effect.catch(
          enter(rows),
          // Written again after a commit whose answer was lost, they are there already, and their sums with them.
          Effect.fnUntraced(function* (error) {
            if (!isDuplicate(error) || !(yield* areEntered(rows))) return yield* error
          }),
        )
      }, unavailable)

      const spent = Effect.fn("Ledger.spent")(function* (jobs: ReadonlyArray<string>) {
        if (jobs.length === 0) return () => NOTHING_SPENT
        const rows = yield* sql`SELECT job_id,
            COUNT(*) AS calls,
            COUNT(*) - COUNT(cost) AS unpriced,
            CAST(COALESCE(SUM(input_tokens), 0) AS BIGINT) AS input_tokens,
            CAST(COALESCE(SUM(output_tokens), 0) AS BIGINT) AS output_tokens,
            CAST(COALESCE(SUM(cached_tokens), 0) AS BIGINT) AS cached_tokens,
            CAST(COALESCE(SUM(cost), 0) AS BIGINT) AS cost
          FROM ledger_calls WHERE job_id IN ${sql.in(jobs)} GROUP BY job_id`
        const byJob = new Map((yield* decodeSpent(rows)).map(({ job_id, ...spent }) => [job_id, spent]))
        return (job: string) => byJob.get(job) ?? NOTHING_SPENT
      }, unavailable)

      return Ledger.of({ record, spent })
    }),
  )
}

const isDuplicate = ({ reason }: SqlError.SqlError): boolean =>
  reason._tag === "UniqueViolation" || reason._tag === "ConstraintError"

const columnsOf = (row: CallRecord) => ({
  id: row.id,
  at: row.at,
  request_id: row.requestId,
  first_of_request: row.first ? 1 : 0,
  tenant: row.tenant,
  job_id: row.job,
  agent_id: row.agent,
  mode: row.mode ?? "",
  strategy: row.strategy,
  role: row.role,
  provider: row.provider,
  model: row.model,
  served_model: row.servedModel,
  input_tokens: row.tokens?.input ?? null,
  output_tokens: row.tokens?.output ?? null,
  cached_tokens: row.tokens?.cached ?? null,
  price_version: row.priceVersion,
  cost: row.cost,
  baseline: row.baseline,
  latency_ms: row.latency,
  ttft_ms: row.ttft,
  outcome: row.outcome,
})
