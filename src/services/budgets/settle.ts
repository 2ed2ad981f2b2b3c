/** Settles reservations. Those that are ready at the same time share a statement. */
import { Effect } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import { makeBatched } from "../batched.ts"
import { type Columns, givenItems } from "../storedRows.ts"
import { cappedSums } from "../routing/HourlySums.ts"
import type { Amount, Use } from "./limits.ts"

/** A reservation, and what was used of it. */
export interface Settlement {
  readonly id: string
  readonly uses: ReadonlyArray<Use>
  readonly used: Amount
}

/** A settlement in the row of one of its budgets. */
interface UseSettlement extends Settlement {
  readonly use: Use
}

const COLUMNS: Columns<UseSettlement> = {
  id: ["TEXT", ({ id }) => id],
  owner: ["TEXT", ({ use }) => use.owner],
  per: ["TEXT", ({ use }) => use.per],
  since: ["BIGINT", ({ use }) => use.since],
  spent_cost: ["BIGINT", ({ used }) => used.cost],
  spent_tokens: ["BIGINT", ({ used }) => used.tokens],
}

/**
 * Returns a function that ends reservations of `holder`, and counts what was used as spent. It skips reservations of
 * others.
 */
export const makeSettle = Effect.fnUntraced(function* (holder: string) {
  const sql = yield* SqlClient.SqlClient
  const given = givenItems(sql, COLUMNS)
  const { sum } = cappedSums(sql)

  const spent = sql.literal(
    ["spent_cost", "spent_tokens"]
      .map((name) => `${name} = ${sum(`budget_use.${name}`, `excluded.${name}`)}`)
      .join(", "),
  )
  const endedBy = (settlements: ReadonlyArray<Settlement>) => sql`
    DELETE FROM budget_reservations WHERE holder = ${holder} AND id IN ${sql.in(settlements.map(({ id }) => id))}`
  /** Locks the rows in the order of `reserve.ts`, so that the two cannot deadlock. `ended` are the reservations' rows. */
  const addUp = (settlements: ReadonlyArray<Settlement>, ended: Statement.Fragment, which = sql`TRUE`) => {
    const rows = settlements.flatMap((settlement) => settlement.uses.map((use) => ({ ...settlement, use })))
    return sql`
      INSERT INTO budget_use (owner, per, since, spent_cost, spent_tokens, reserved_cost, reserved_tokens, room_cost, room_tokens)
      SELECT owner, per, since, SUM(spent_cost), SUM(spent_tokens), -SUM(ended.cost), -SUM(ended.tokens), 0, 0
      FROM ${given(rows)} JOIN ${ended} AS ended ON ended.id = given.id
      WHERE ${which} GROUP BY owner, per, since ORDER BY owner, per, since
      ON CONFLICT (owner, per, since) DO UPDATE SET ${spent},
        reserved_cost = budget_use.reserved_cost + excluded.reserved_cost,
        reserved_tokens = budget_use.reserved_tokens + excluded.reserved_tokens`
  }

  const settleAll = (all: ReadonlyArray<Settlement>): Effect.Effect<unknown, SqlError.SqlError> =>
    sql.onDialectOrElse({
      pg: () => sql`WITH deleted AS (${endedBy(all)} RETURNING id, cost, tokens) ${addUp(all, sql`deleted`)}`,
      orElse: () =>
        sql.withTransaction(
          Effect.andThen(addUp(all, sql`budget_reservations`, sql`ended.holder = ${holder}`), endedBy(all)),
        ),
    })

  return yield* makeBatched<Settlement, Settlement>({ run: (all) => Effect.as(settleAll(all), all) })
})
