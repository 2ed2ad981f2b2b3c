/** The ledger: every upstream call with its cost and baseline. Rows and their sums are written in one transaction. */
import { Context, Effect, Layer, Random, Record, Result, Schema } from "effect"
import { SqlClient, SqlError, type Statement } from "effect/sql"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import { makeBatched } from "../batched.ts"
import { spanned } from "../spans.ts"
import {
  type Columns,
  decodeRows,
  givenItems,
  givenRows,
  inTime,
  isDuplicate,
  unavailable,
  unavailableUnlimited,
} from "../storedRows.ts"
import { TenantChanges } from "../TenantChanges.ts"
import type { CallRecord } from "./CallRecord.ts"
import { CurrentReservation } from "../budgets/CurrentReservation.ts"
import { ALL_TENANTS, cappedSums, HOUR_MS, SUM_COLUMNS, SUMS_OF_CALLS } from "./HourlySums.ts"
import { makeSpendSums, SPEND_COLUMNS, SPEND_SUMS } from "./spendSums.ts"

const sums = {
  calls: Schema.Int,
  unpriced: Schema.Int,
  input_tokens: Schema.Int,
  output_tokens: Schema.Int,
  cached_tokens: Schema.Int,
  cost: Schema.Int,
  charged_tokens: Schema.Int,
  charged_cost: Schema.Int,
}
const Spent = Schema.Struct(sums)
/** A job's usage so far. `cost` is its known part; `unpriced` counts the other calls, which `charged_cost` estimates. */
export type Spent = typeof Spent.Type

const SpentRow = Schema.Struct({ job_id: Schema.String, ...sums })
export const NOTHING_SPENT: Spent = Record.map(sums, () => 0)
const decodeSpent = decodeRows("ledger_calls", SpentRow)

export class Ledger extends Context.Service<
  Ledger,
  {
    /** Enters calls and adds them to the sums, all or nothing. Calls that are already entered are skipped. */
    readonly record: (rows: ReadonlyArray<CallRecord>) => Effect.Effect<void, StorageUnavailable>
    /** Returns the usage of these jobs over all attempts and crashes. */
    readonly spent: (jobs: ReadonlyArray<string>) => Effect.Effect<(job: string) => Spent, StorageUnavailable>
  }
>()("sealgate/services/routing/Ledger") {
  static readonly layer = Layer.effect(
    Ledger,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const { note } = yield* TenantChanges
      const { addUp, total } = cappedSums(sql)
      const used = sql.literal(
        ["input_tokens", "output_tokens", "cached_tokens", "cost", "charged_tokens", "charged_cost"]
          .map((name) => `${total(name)} AS ${name}`)
          .join(", "),
      )

      // Each process has its own rows, so that processes do not wait for each other's commits; the embedded database has one.
      const drawn = yield* Random.nextIntBetween(0, WRITERS)
      const writer = sql.onDialectOrElse({ sqlite: () => 0, orElse: () => drawn })
      const calls = givenItems(sql, CALL_COLUMNS)
      const spending = givenRows(sql, SPEND_COLUMNS)
      const callNames = sql.literal(Object.keys(CALL_COLUMNS).join(", "))
      const spendNames = sql.literal(Object.keys(SPEND_COLUMNS).join(", "))
      const addHours = makeAddHours(sql, writer)
      const addUpSpend = addUp("ledger_spend_new", SPEND_SUMS)
      const spendSums = makeSpendSums()

      const enter = (rows: ReadonlyArray<Entry>): Effect.Effect<unknown, SqlError.SqlError> => {
        const addCalls = sql`INSERT INTO ledger_calls (${callNames}) SELECT ${callNames} FROM ${calls(rows)}`
        const spent = spendSums(rows).map((sums) => ({ ...sums, writer }))
        const addSpend = sql`INSERT INTO ledger_spend_new (${spendNames}) SELECT ${spendNames} FROM ${spending(spent)} WHERE TRUE
          ON CONFLICT (tenant, kind, hour, value, writer) DO UPDATE SET ${addUpSpend}`
        return sql.onDialectOrElse({
          pg: () => sql`WITH entered AS (${addCalls} RETURNING *), added AS (${addHours(sql`entered`)}) ${addSpend}`,
          orElse: () => sql.withTransaction(Effect.all([addCalls, addHours(calls(rows)), addSpend])),
        })
      }

      const areEntered = Effect.fnUntraced(function* (rows: ReadonlyArray<CallRecord>) {
        const ids = rows.map(({ id }) => id)
        return (yield* sql`SELECT id FROM ledger_calls WHERE id IN ${sql.in(ids)}`).length === ids.length
      })

      const enterTogether = yield* makeBatched<ReadonlyArray<Entry>, ReadonlyArray<Entry>>({
        run: (requests) => Effect.as(enter(requests.flat()), requests),
      })

      const record = Effect.fnUntraced(
        function* (rows: ReadonlyArray<CallRecord>) {
          if (rows.length === 0) return
          const reservation = yield* CurrentReservation
          const entered = yield* Effect.result(enterTogether(rows.map((row) => ({ ...row, reservation }))))
          if (Result.isSuccess(entered))
            return yield* Effect.forEach(rows, ({ tenant }) => note(tenant), { discard: true })
          const error = entered.failure
          // A retry after a commit whose answer was lost: the rows are already there, and so are their sums.
          if (SqlError.isSqlError(error) && isDuplicate(error) && (yield* inTime(areEntered(rows)))) return
          return yield* error
        },
        unavailableUnlimited,
        spanned("Ledger.record"),
      )

      const spent = Effect.fn("Ledger.spent")(function* (jobs: ReadonlyArray<string>) {
        if (jobs.length === 0) return () => NOTHING_SPENT
        const rows = yield* sql`SELECT job_id,
            COUNT(*) AS calls,
            COUNT(*) - COUNT(cost) AS unpriced,
            ${used}
          FROM ledger_calls WHERE job_id IN ${sql.in(jobs)} GROUP BY job_id`
        const byJob = new Map((yield* decodeSpent(rows)).map(({ job_id, ...spent }) => [job_id, spent]))
        return (job: string) => byJob.get(job) ?? NOTHING_SPENT
      }, unavailable)

      return Ledger.of({ record, spent })
    }),
  )
}

interface Entry extends CallRecord {
  /** The reservation that it is charged to. */
  readonly reservation: string | null
}

/** Maximum number of rows for an hour's sums. Processes that share a row only wait for each other. */
const WRITERS = 4096

const CALL_COLUMNS: Columns<Entry> = {
  id: ["TEXT", (row) => row.id],
  at: ["BIGINT", (row) => row.at],
  request_id: ["TEXT", (row) => row.requestId],
  first_of_request: ["BIGINT", (row) => (row.first ? 1 : 0)],
  tenant: ["TEXT", (row) => row.tenant],
  job_id: ["TEXT", (row) => row.job],
  agent_id: ["TEXT", (row) => row.agent],
  mode: ["TEXT", (row) => row.mode ?? ""],
  strategy: ["TEXT", (row) => row.strategy],
  role: ["TEXT", (row) => row.role ?? ""],
  provider: ["TEXT", (row) => row.provider],
  model: ["TEXT", (row) => row.model],
  served_model: ["TEXT", (row) => row.servedModel],
  input_tokens: ["BIGINT", (row) => row.tokens?.input ?? null],
  output_tokens: ["BIGINT", (row) => row.tokens?.output ?? null],
  cached_tokens: ["BIGINT", (row) => row.tokens?.cached ?? null],
  price_version: ["TEXT", (row) => row.priceVersion],
  cost: ["BIGINT", (row) => row.cost],
  charged_tokens: ["BIGINT", (row) => row.charged.tokens],
  charged_cost: ["BIGINT", (row) => row.charged.cost],
  baseline: ["BIGINT", (row) => row.baseline],
  latency_ms: ["BIGINT", (row) => row.latency],
  ttft_ms: ["BIGINT", (row) => row.ttft],
  outcome: ["TEXT", (row) => row.outcome],
  key_id: ["TEXT", (row) => row.key],
  labels: ["TEXT", (row) => (Record.isEmptyRecord(row.labels) ? null : JSON.stringify(row.labels))],
  estimated: ["BIGINT", (row) => (row.estimated ? 1 : 0)],
  reservation_id: ["TEXT", (row) => row.reservation],
  own_key: ["BIGINT", (row) => (row.ownKey ? 1 : 0)],
}

/** Returns a function that adds calls to the sums of their hours, for their tenants and for all. */
const makeAddHours = (sql: SqlClient.SqlClient, writer: number) => {
  const { addUp, total } = cappedSums(sql)
  const key = sql.literal("hour, mode, strategy, provider, model")
  const names = sql.literal(SUM_COLUMNS.join(", "))
  const sums = sql.literal([`${writer}`, ...SUM_COLUMNS.map((name) => total(SUMS_OF_CALLS[name]))].join(", "))
  const added = sql.literal(
    `at / ${HOUR_MS} AS hour, CASE of_all WHEN 1 THEN '${ALL_TENANTS}' ELSE tenant END AS owner`,
  )
  // Sorted, so that processes that share rows cannot deadlock.
  return (calls: Statement.Fragment) => sql`INSERT INTO ledger_hours (tenant, ${key}, writer, ${names})
    SELECT owner, ${key}, ${sums}
    FROM (SELECT *, ${added} FROM ${calls} CROSS JOIN (SELECT 0 AS of_all UNION ALL SELECT 1) AS twice) AS added
    GROUP BY owner, ${key} ORDER BY owner, ${key}
    ON CONFLICT (tenant, ${key}, writer) DO UPDATE SET ${addUp("ledger_hours", SUM_COLUMNS)}`
}
