/**
 * Ends the reservations of processes that died. A call in the ledger is charged as entered there. Any other call may
 * have been made and billed, so it is charged as reserved, and entered in the ledger as an estimate.
 */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { rowByRow } from "../background.ts"
import { databaseTime } from "../databaseTime.ts"
import { decodeRows, skipLocked, unavailable } from "../storedRows.ts"
import { lostRecord, Pending } from "../routing/Accounting.ts"
import { CurrentReservation } from "./CurrentReservation.ts"
import { cappedSums } from "../routing/HourlySums.ts"
import { Ledger } from "../routing/Ledger.ts"
import { Use } from "./limits.ts"
import type { makeSettle } from "./settle.ts"

const Reserved = Schema.Struct({
  id: Schema.String,
  cost: Schema.Int,
  tokens: Schema.Int,
  uses: Schema.fromJsonString(Schema.Array(Use)),
})
const decodeReserved = decodeRows("budget_reservations", Reserved)
const Lost = Schema.Struct({ ...Reserved.fields, at: Schema.Int, asked: Schema.fromJsonString(Pending) })
const decodeLost = decodeRows("budget_reservations", Lost)
type Lost = typeof Lost.Type

const Charged = Schema.Struct({ id: Schema.String, cost: Schema.Int, tokens: Schema.Int, answered: Schema.Int })
const decodeCharged = decodeRows("ledger_calls", Charged)

const BATCH = 100

/** Returns an effect that ends all reservations whose lease has run out. `lease` in milliseconds. */
export const makeEndLost = Effect.fnUntraced(function* (
  holder: string,
  lease: number,
  settle: Effect.Success<ReturnType<typeof makeSettle>>,
) {
  const sql = yield* SqlClient.SqlClient
  const ledger = yield* Ledger
  const now = databaseTime(sql)
  const { total } = cappedSums(sql)
  const charged = sql.literal(`${total("charged_cost")} AS cost, ${total("charged_tokens")} AS tokens,
    ${total("CASE WHEN outcome = 'success' THEN 1 ELSE 0 END")} AS answered`)

  /** Charges a reservation whose request cannot be read in full, and enters nothing in the ledger. */
  const endUnread = Effect.fnUntraced(function* (row: unknown) {
    for (const { id, uses, ...worst } of yield* decodeReserved([row])) yield* settle({ id, uses, used: worst })
    return []
  })

  /** Takes lost reservations over, so that a holder that is still alive cannot settle them. */
  const takeOver = Effect.flatMap(
    Effect.suspend(
      () => sql<{ id: string }>`UPDATE budget_reservations SET holder = ${holder}, until = ${now} + ${lease}
        WHERE id IN (SELECT id FROM budget_reservations WHERE until <= ${now} LIMIT ${BATCH} ${skipLocked(sql, "UPDATE")})
        RETURNING id, at, cost, tokens, uses, asked`,
    ),
    (rows) =>
      rowByRow(
        rows,
        (row) => decodeLost([row]),
        (row) => rowByRow([row], endUnread),
      ),
  )

  const chargesOf = Effect.fnUntraced(function* (lost: ReadonlyArray<Lost>) {
    const rows = yield* sql`SELECT reservation_id AS id, ${charged} FROM ledger_calls
      WHERE tenant IN ${sql.in([...new Set(lost.map(({ asked }) => asked.account.tenant))])}
        AND at >= ${Math.min(...lost.map(({ at }) => at))} AND reservation_id IN ${sql.in(lost.map(({ id }) => id))}
      GROUP BY reservation_id`
    return new Map((yield* decodeCharged(rows)).map((row) => [row.id, row]))
  })

  const end = ({ asked, at, id, uses, ...worst }: Lost, known: typeof Charged.Type | undefined) => {
    const { answered, cost, tokens } = known ?? { cost: 0, tokens: 0, answered: 0 }
    const used = { cost: Math.max(cost, worst.cost), tokens: Math.max(tokens, worst.tokens) }
    if (answered > 0) return settle({ id, uses, used: { cost, tokens } })
    const rest = { cost: used.cost - cost, tokens: used.tokens - tokens }
    // If this process dies in between, the next one finds the row, and does not enter it again.
    return ledger
      .record([lostRecord(id, at, asked, rest)])
      .pipe(Effect.provideService(CurrentReservation, id), Effect.andThen(settle({ id, uses, used })))
  }

  return Effect.gen(function* () {
    const lost = yield* takeOver
    if (lost.length === 0) return 0
    const known = yield* chargesOf(lost)
    yield* Effect.forEach(lost, (each) => end(each, known.get(each.id)), { concurrency: "unbounded", discard: true })
    yield* Effect.logWarning("Calls of a process that died were charged").pipe(
      Effect.annotateLogs({ calls: lost.length }),
    )
    return lost.length
  }).pipe(Effect.repeat({ while: (count) => count === BATCH }), unavailable)
})
