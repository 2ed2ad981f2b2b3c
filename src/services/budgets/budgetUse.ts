/** Reads what is spent and reserved in budgets. */
import { Clock, DateTime, Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { type Budgeted, type BudgetUse, renewalOf } from "../../domain/access/budgets.ts"
import { givenRows, unavailable } from "../storedRows.ts"
import { type Amount, limitsOf, type Use, useKey } from "./limits.ts"

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

export const makeReport = (sql: SqlClient.SqlClient) => {
  const readUse = makeReadUse(sql)
  return Effect.fnUntraced(function* (budgeted: ReadonlyArray<Budgeted>) {
    const now = yield* Clock.currentTimeMillis
    const limits = limitsOf(budgeted, now)
    const usedIn = yield* readUse(limits)
    return limits.map((limit): BudgetUse => {
      const { reserved, spent } = usedIn(limit)
      const { max_cost_micro_usd, max_tokens, per } = limit.budget
      const left = (most: number | undefined, used: number) => (most === undefined ? null : Math.max(0, most - used))
      const renewsAt = renewalOf(per, now)
      return {
        owner: limit.whose,
        ...limit.budget,
        spent_micro_usd: spent.cost,
        spent_tokens: spent.tokens,
        reserved_micro_usd: reserved.cost,
        reserved_tokens: reserved.tokens,
        left_micro_usd: left(max_cost_micro_usd, spent.cost + reserved.cost),
        left_tokens: left(max_tokens, spent.tokens + reserved.tokens),
        ...(renewsAt === undefined ? {} : { renews_at: DateTime.makeUnsafe(renewsAt) }),
      }
    })
  }, unavailable)
}
