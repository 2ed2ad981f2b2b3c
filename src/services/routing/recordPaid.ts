/** Enters paid calls in the ledger. Rows that the database refuses wait in memory until it is back, or the shutdown. */
import { Array, type Context, Duration, Effect, Schedule } from "effect"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import { regularly, survive } from "../background.ts"
import { CurrentReservation } from "../budgets/CurrentReservation.ts"
import type { CallRecord } from "./CallRecord.ts"
import { Ledger } from "./Ledger.ts"
import { countRecords } from "./RoutingMetrics.ts"

/** Retries the ledger for 5 seconds: without the row of a paid call, the job would pay for it again. */
const WRITE_AGAIN = Schedule.exponential("50 millis").pipe(Schedule.upTo({ duration: "5 seconds" }))
const WRITE_KEPT_EVERY = Duration.seconds(3)
/** Below the 10 s in which orchestrators expect an aborted process to end. */
const LAST_WRITE = Duration.seconds(5)

/** Most kept rows; labels included, they take some 10 MB. */
export const MAX_KEPT = 10_000
const BATCH = 64

interface Kept {
  readonly row: CallRecord
  readonly reservation: string | null
}

/** Returns a function that enters calls. If the database fails, it keeps them and enters them later. */
export const makeRecordPaid = Effect.gen(function* () {
  const ledger = yield* Ledger
  const kept = new Set<Kept>()
  let isFull = false

  const enter = (rows: ReadonlyArray<CallRecord>) =>
    Effect.contextWith((context: Context.Context<never>) =>
      Effect.map(ledger.record(rows), () => countRecords(rows, context)),
    )

  const keep = Effect.fnUntraced(function* (rows: ReadonlyArray<CallRecord>) {
    const reservation = yield* CurrentReservation
    const room = MAX_KEPT - kept.size
    for (const row of rows.slice(0, room)) kept.add({ row, reservation })
    if (rows.length <= room || isFull) return
    isFull = true
    yield* Effect.logError(
      `The ledger will miss calls: the database has been away for long, and ${MAX_KEPT} rows wait for it. Restore the database`,
    )
  })

  const writeOne = (each: Kept) =>
    Effect.match(Effect.provideService(enter([each.row]), CurrentReservation, each.reservation), {
      onSuccess: () => kept.delete(each),
      onFailure: () => {
        // Goes to the end, so that a refused row delays no other.
        kept.delete(each)
        kept.add(each)
        return false
      },
    })
  const writeKept = Effect.gen(function* () {
    for (const batch of Array.chunksOf(kept, BATCH)) {
      const written = yield* Effect.forEach(batch, writeOne, { concurrency: "unbounded" })
      if (!written.includes(true)) return
    }
    isFull = false
  })
  yield* Effect.addFinalizer(() =>
    Effect.andThen(
      Effect.timeoutOption(survive(writeKept), LAST_WRITE),
      Effect.suspend(() =>
        kept.size === 0
          ? Effect.void
          : Effect.annotateLogs(Effect.logError("The ledger misses calls: the database was away until the shutdown"), {
              calls: kept.size,
            }),
      ),
    ),
  )
  yield* Effect.forkScoped(regularly(writeKept, WRITE_KEPT_EVERY))

  return (rows: ReadonlyArray<CallRecord>): Effect.Effect<void, StorageUnavailable> =>
    Effect.tapError(Effect.retry(enter(rows), WRITE_AGAIN), () => keep(rows))
})
