/** Settles reservations. Those that are ready at the same time share a statement. */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { makeBatched } from "../batched.ts"
import { givenRows } from "../storedRows.ts"
import { USE_COLUMNS } from "./budgetUse.ts"
import { cappedSums } from "./HourlySums.ts"
import type { Amount, Use } from "./Reservation.ts"

/** A reservation of `worst`, and what was used. */
export interface Settlement {
  readonly id: string
  readonly uses: ReadonlyArray<Use>
  readonly worst: Amount
  readonly used: Amount
}

const COLUMNS = {
  id: "TEXT",
  ...USE_COLUMNS,
  spent_cost: "BIGINT",
  spent_tokens: "BIGINT",
  reserved_cost: "BIGINT",
  reserved_tokens: "BIGINT",
} as const

/** Returns a function that ends reservations of `holder`, and counts as spent what was used. It skips any other. */
export const makeSettle = Effect.fnUntraced(function* (holder: string) {
  const sql = yield* SqlClient.SqlClient
  const given = givenRows(sql, COLUMNS)
  const { sum } = cappedSums(sql)
  type Row = Parameters<typeof given>[0][number]

  const spent = sql.literal(
    ["spent_cost", "spent_tokens"]
      .map((name) => `${name} = ${sum(`budget_use.${name}`, `excluded.${name}`)}`)
      .join(", "),
  )
  const ended = (ids: ReadonlyArray<string>) => sql<{ id: string }>`
    DELETE FROM budget_reservations WHERE holder = ${holder} AND id IN ${sql.in(ids)} RETURNING id`
  /** Locks the rows in the order of `reserving.ts`, so that the two cannot deadlock. */
  const addUp = (rows: ReadonlyArray<Row>, which = sql`TRUE`) => sql`
    INSERT INTO budget_use (owner, per, since, spent_cost, spent_tokens, reserved_cost, reserved_tokens, room_cost, room_tokens)
    SELECT owner, per, since, SUM(spent_cost), SUM(spent_tokens), SUM(reserved_cost), SUM(reserved_tokens), 0, 0
    FROM ${given(rows)} WHERE ${which} GROUP BY owner, per, since ORDER BY owner, per, since
    ON CONFLICT (owner, per, since) DO UPDATE SET ${spent},
      reserved_cost = budget_use.reserved_cost + excluded.reserved_cost,
      reserved_tokens = budget_use.reserved_tokens + excluded.reserved_tokens`

  const settleAll = (settlements: ReadonlyArray<Settlement>): Effect.Effect<unknown, SqlError.SqlError> => {
    const ids = settlements.map(({ id }) => id)
    const rows = settlements.flatMap(rowsOf)
    return sql.onDialectOrElse({
      pg: () => sql`WITH ended AS (${ended(ids)}) ${addUp(rows, sql`id IN (SELECT id FROM ended)`)}`,
      orElse: () =>
        sql.withTransaction(
          Effect.flatMap(ended(ids), (found) => {
            const known = new Set(found.map(({ id }) => id))
            return addUp(rows.filter(({ id }) => typeof id === "string" && known.has(id)))
          }),
        ),
    })
  }

  return yield* makeBatched<Settlement, Settlement>({ run: (all) => Effect.as(settleAll(all), all) })
})

const rowsOf = ({ id, used, uses, worst }: Settlement) =>
  uses.map(({ owner, per, since }) => ({
    id,
    owner,
    per,
    since,
    spent_cost: used.cost,
    spent_tokens: used.tokens,
    reserved_cost: -worst.cost,
    reserved_tokens: -worst.tokens,
  }))
