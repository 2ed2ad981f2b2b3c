/**
 * Budgets. Before a call its worst case is reserved in every budget that it must fit, or in none; afterwards what it used
 * is spent, and the rest is free again. A reservation has a lease, which its process renews while the call runs: after a
 * crash it ends with the lease, and counts as spent. So no crash, timeout or silent provider lets a call exceed a budget.
 */
import { Clock, Context, Duration, Effect, Layer, Schedule } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { BudgetUse, Budgeted, BudgetExhausted } from "../../domain/access/budgets.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import { regularly } from "../background.ts"
import { databaseTime } from "../databaseTime.ts"
import { thisMoment } from "../moments.ts"
import { givenRows, skipLocked, unavailable, unavailableUnlimited } from "../storedRows.ts"
import type { Pending } from "../routing/Accounting.ts"
import { CurrentReservation, ReserveMore } from "./CurrentReservation.ts"
import type { Ledger } from "../routing/Ledger.ts"
import { makeReport } from "./budgetUse.ts"
import { makeEndLost } from "./lostReservations.ts"
import { type Amount, limitsOf } from "./limits.ts"
import { makeReserve, type Reservation } from "./reserve.ts"
import { makeSettle } from "./settle.ts"

/** A call to be made: its worst case, and the budgets that must have room for it. */
export interface PlannedCall {
  readonly budgeted: ReadonlyArray<Budgeted>
  readonly worst: Amount
  readonly asked: Pending
}

/** A reservation that was not renewed for this long belongs to a dead process. */
const LEASE = Duration.seconds(15)
const RENEW_EVERY = Duration.seconds(5)
/** The delay between renewals while the database is away. */
const RENEW_AGAIN = Duration.seconds(1)

export class Budgets extends Context.Service<
  Budgets,
  {
    /**
     * Reserves the worst case and runs `call`, which may {@link ReserveMore}. However `call` ends, it settles with what
     * `used` then returns.
     */
    readonly within: <A, E>(
      planned: PlannedCall,
      call: Effect.Effect<A, E>,
      used: () => Amount,
    ) => Effect.Effect<A, E | BudgetExhausted | StorageUnavailable>
    /** The use of these budgets in their present periods. */
    readonly report: (budgeted: ReadonlyArray<Budgeted>) => Effect.Effect<ReadonlyArray<BudgetUse>, StorageUnavailable>
  }
>()("sealgate/services/budgets/Budgets") {
  static readonly layer: Layer.Layer<Budgets, StorageUnavailable, SqlClient.SqlClient | Ledger> = Layer.effect(
    Budgets,
    Effect.suspend(() => unavailable(make)),
  )
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const holder = SecureRandom.uuidV7Unsafe()
  const lease = Duration.toMillis(LEASE)
  const reserve = yield* makeReserve(holder, lease)
  const settle = yield* makeSettle(holder)
  const open = new Set<string>()

  // Only one process uses the embedded database, so earlier reservations belong to a dead one.
  yield* sql.onDialectOrElse({
    sqlite: () => sql`UPDATE budget_reservations SET until = 0`,
    orElse: () => Effect.void,
  })
  const renew = makeRenew(sql, { holder, lease, open })
  const endLost = yield* makeEndLost(holder, lease, settle)
  // After an outage all leases may have run out, so living processes renew theirs first.
  const patience = sql.onDialectOrElse({ sqlite: () => 0, orElse: () => lease })
  let answersSince = Infinity
  const tick = Effect.gen(function* () {
    yield* Effect.retry(
      Effect.tapError(renew, () => Effect.sync(() => (answersSince = Infinity))),
      Schedule.spaced(RENEW_AGAIN),
    )
    const now = yield* thisMoment
    answersSince = Math.min(answersSince, now)
    if (now - answersSince >= patience) yield* endLost
  })
  yield* Effect.forkScoped(regularly(tick, RENEW_EVERY))

  /** If the write fails, which is logged, the reservation ends with its lease. */
  const end = ({ id, limits }: Reservation, used: Amount) =>
    Effect.ignore(unavailableUnlimited(settle({ id, uses: limits, used })))

  /**
   * Reserves the worst case of a call. If the write fails, ends the reservation, because the write may have succeeded.
   * Defined once, like `recorded` in `callAndRecord.ts`.
   */
  const begin = Effect.fnUntraced(function* ({ asked, budgeted, worst }: PlannedCall) {
    const at = yield* Clock.currentTimeMillis
    const id = SecureRandom.uuidV7Unsafe()
    const reservation: Reservation = { id, at, worst, limits: limitsOf(budgeted, at), asked }
    const refusal = yield* Effect.tapError(unavailableUnlimited(reserve(reservation)), () =>
      Effect.forkDetach(end(reservation, { cost: 0, tokens: 0 })),
    )
    if (refusal !== null) return yield* refusal
    open.add(id)
    return reservation
  })

  return Budgets.of({
    report: makeReport(sql),
    within: (planned, call, used) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(begin(planned), (reservation) => {
          const more = (worst: Amount) =>
            unavailableUnlimited(reserve({ ...reservation, worst })).pipe(
              Effect.map((refusal) => refusal === null),
              Effect.orElseSucceed(() => false),
              Effect.uninterruptible,
            )
          return restore(call).pipe(
            Effect.provideService(CurrentReservation, reservation.id),
            Effect.provideService(ReserveMore, more),
            Effect.ensuring(
              Effect.suspend(() => {
                open.delete(reservation.id)
                return end(reservation, used())
              }),
            ),
          )
        }),
      ),
  })
})

/** Returns an effect that renews the leases of these reservations. Without the database it fails, even if there are none. */
const makeRenew = (
  sql: SqlClient.SqlClient,
  { holder, lease, open }: { readonly holder: string; readonly lease: number; readonly open: ReadonlySet<string> },
) => {
  const given = givenRows(sql, { id: "TEXT" })
  // Rows that are being settled are skipped: waiting for them could deadlock.
  return Effect.suspend(() =>
    unavailable(sql`UPDATE budget_reservations SET until = ${databaseTime(sql)} + ${lease} WHERE id IN (
      SELECT id FROM budget_reservations WHERE holder = ${holder} AND id IN (SELECT id FROM ${given([...open].map((id) => ({ id })))})
      ${skipLocked(sql, "NO KEY UPDATE")})`),
  )
}
