/** Sums over calls: of hours in `ledger_hours`, of partial hours from the calls themselves. */
import { Record } from "effect"
import type { SqlClient } from "effect/sql"
import { isInClass, LATENCY_CLASSES } from "../../domain/routing/latency.ts"
import { MAX_SUM, sumOf } from "../../domain/routing/money.ts"
import { ANSWERED } from "./CallRecord.ts"

export const HOUR_MS = 3_600_000

/** The tenant of the sums over all tenants; real tenants have no empty name. */
export const ALL_TENANTS = ""

/** Every sum as SQL over rows of `ledger_calls`. */
export const SUMS_OF_CALLS = {
  requests: "first_of_request",
  calls: "1",
  failed: `CASE WHEN outcome IN ('${ANSWERED.join("', '")}') THEN 0 ELSE 1 END`,
  unpriced: "CASE WHEN cost IS NULL OR baseline IS NULL THEN 1 ELSE 0 END",
  input_tokens: "COALESCE(input_tokens, 0)",
  output_tokens: "COALESCE(output_tokens, 0)",
  cached_tokens: "COALESCE(cached_tokens, 0)",
  cost: "COALESCE(cost, 0)",
  compared: "CASE WHEN baseline IS NULL THEN 0 ELSE COALESCE(cost, 0) END",
  baseline: "CASE WHEN cost IS NULL THEN 0 ELSE COALESCE(baseline, 0) END",
  ...Record.map(
    LATENCY_CLASSES,
    (_, name) => `CASE WHEN outcome = 'success' AND ${isInClass(name, "latency_ms")} THEN 1 ELSE 0 END`,
  ),
} as const

/** SQL of `sumOf`: `total` sums over rows, `sum` adds two, and `addUp` adds to a row already there (`ON CONFLICT`). */
export const cappedSums = (sql: SqlClient.SqlClient) => {
  const { sum, total } = sql.onDialectOrElse({
    pg: () => ({
      total: (expression: string) => `CAST(LEAST(COALESCE(SUM(${expression}), 0), ${MAX_SUM}) AS BIGINT)`,
      sum: (a: string, b: string) => `LEAST(${a} + ${b}, ${MAX_SUM})`,
    }),
    // TOTAL adds in floating point, exact up to MAX_SUM; SUM fails beyond 64 bits.
    orElse: () => ({
      total: (expression: string) => `CAST(MIN(TOTAL(${expression}), ${MAX_SUM}) AS BIGINT)`,
      sum: (a: string, b: string) => `MIN(${a} + ${b}, ${MAX_SUM})`,
    }),
  })
  const addUp = (table: string, names: ReadonlyArray<string>) =>
    sql.literal(names.map((name) => `${name} = ${sum(`${table}.${name}`, `excluded.${name}`)}`).join(", "))
  return { total, sum, addUp }
}

export type Sums = { readonly [Name in keyof typeof SUMS_OF_CALLS]: number }

export const SUM_COLUMNS = Record.keys(SUMS_OF_CALLS)

export const NO_SUMS: Sums = Record.map(SUMS_OF_CALLS, () => 0)

export const addSums = (a: Sums, b: Sums): Sums => Record.map(NO_SUMS, (_, name) => sumOf(a[name], b[name]))
