/** Moves the sums of past hours from `ledger_spend_new` to `ledger_spend`, so that calls need not wait for it. */
import { Clock, Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { regularly } from "../background.ts"
import { inBatches } from "../inBatches.ts"
import { givenRows, skipLocked, unavailableUnlimited } from "../storedRows.ts"
import { cappedSums, HOUR_MS } from "./HourlySums.ts"
import { SPEND_COLUMNS, SPEND_SUMS } from "./spendSums.ts"

/** The lengths of periods, in hours, the longest first. Each is a multiple of the next. */
export const UNITS = [168, 24, 6, 1] as const

/** The least and most rows per transaction. */
const BATCH = { least: 100, most: 250 }
const EVERY = Duration.minutes(5)

const KEY = "tenant, kind, unit, period, value"

/** Moves the rows of hours that ended before `now`, in milliseconds since the epoch. */
export const moveSpend = Effect.fn("SpendPeriods.move")(function* (now: number) {
  const sql = yield* SqlClient.SqlClient
  const { addUp, total } = cappedSums(sql)
  const given = givenRows(sql, SPEND_COLUMNS)
  const units = sql.literal(UNITS.map((unit) => `SELECT ${unit} AS unit`).join(" UNION ALL "))
  const names = sql.literal(SPEND_SUMS.join(", "))
  const totals = sql.literal(SPEND_SUMS.map((name) => `${total(name)} AS ${name}`).join(", "))
  const key = sql.literal(KEY)
  // Another process may move other rows at the same time, or add to these.
  const unlocked = skipLocked(sql, "UPDATE")
  const rowKey = sql.literal("tenant, kind, hour, value, writer")

  const moveBatch = Effect.fnUntraced(function* (size: number) {
    const rows = yield* sql<{ [Name in keyof typeof SPEND_COLUMNS]: string | number }>`DELETE FROM ledger_spend_new
      WHERE (${rowKey}) IN (SELECT ${rowKey} FROM ledger_spend_new WHERE hour < ${Math.floor(now / HOUR_MS)}
        LIMIT ${size} ${unlocked})
      RETURNING *`
    // Sorted, so that processes lock rows in the same order and cannot deadlock.
    if (rows.length > 0) {
      yield* sql`INSERT INTO ledger_spend (${key}, ${names})
        SELECT ${key}, ${totals} FROM (SELECT *, hour / unit AS period FROM ${given(rows)} CROSS JOIN (${units}) AS units) AS moved
        GROUP BY ${key} ORDER BY ${key}
        ON CONFLICT (${key}) DO UPDATE SET ${addUp("ledger_spend", SPEND_SUMS)}`
    }
    return rows.length
  }, sql.withTransaction)

  yield* inBatches(BATCH, moveBatch)
}, unavailableUnlimited)

/** Moves at start and then every few minutes, until its scope closes. */
export const layerSpendPeriods = Layer.effectDiscard(
  Effect.forkScoped(regularly(Effect.flatMap(Clock.currentTimeMillis, moveSpend), EVERY)),
)
