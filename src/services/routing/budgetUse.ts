/** Reads what is spent and reserved in budgets. */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { givenRows } from "../storedRows.ts"
import { type Amount, type Use, useKey } from "./Reservation.ts"

export const USE_COLUMNS = { owner: "TEXT", per: "TEXT", since: "BIGINT" } as const

export interface Used {
  readonly spent: Amount
  readonly reserved: Amount
}

const NOTHING: Amount = { cost: 0, tokens: 0 }
const UNUSED: Used = { spent: NOTHING, reserved: NOTHING }

interface Row extends Use {
  readonly spent_cost: number
  readonly spent_tokens: number
  readonly reserved_cost: number
  readonly reserved_tokens: number
}

/** Returns a function that reads these rows; absent ones are unused. */
export const makeReadUse = (sql: SqlClient.SqlClient) => {
  const given = givenRows(sql, USE_COLUMNS)
  return (uses: ReadonlyArray<Use>): Effect.Effect<(use: Use) => Used, SqlError.SqlError> =>
    Effect.map(
      sql<Row>`SELECT used.owner, used.per, used.since, spent_cost, spent_tokens, reserved_cost, reserved_tokens
        FROM ${given(uses.map(({ owner, per, since }) => ({ owner, per, since })))} JOIN budget_use AS used
        ON used.owner = given.owner AND used.per = given.per AND used.since = given.since`,
      (rows) => {
        const known = new Map(
          rows.map((row) => [
            useKey(row),
            {
              spent: { cost: row.spent_cost, tokens: row.spent_tokens },
              reserved: { cost: row.reserved_cost, tokens: row.reserved_tokens },
            },
          ]),
        )
        return (use) => known.get(useKey(use)) ?? UNUSED
      },
    )
}
