/** Removes old calls from the ledger, but neither their hourly sums nor the calls of jobs that still exist. */
import { DateTime, Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { regularly } from "../background.ts"
import { earlierTime } from "../databaseTime.ts"
import { inBatches } from "../inBatches.ts"
import { unavailable, unavailableUnlimited } from "../storedRows.ts"
import { HOUR_MS } from "./HourlySums.ts"

type Retention = { readonly days: number } | { readonly months: number }

/** The least and most calls looked at per transaction. */
const BATCH = { least: 5, most: 25 }
const EVERY = Duration.hours(1)

interface PruneCursor {
  readonly at: number
  readonly id: string
}

const BEGIN: PruneCursor = { at: Number.MIN_SAFE_INTEGER, id: "" }

/** Removes the calls before `cutoff`, in milliseconds since the epoch, rounded down to the hour. */
export const pruneLedger = Effect.fn("LedgerRetention.prune")(function* (cutoff: number) {
  const sql = yield* SqlClient.SqlClient
  const before = Math.floor(cutoff / HOUR_MS) * HOUR_MS
  // Stored first, so that statistics do not sum up the calls of an hour that was removed in part.
  yield* sql`UPDATE ledger_pruned SET before = ${before} WHERE before < ${before}`

  /** Removes old calls among the `size` after `start`. Returns the position of the last one; `undefined` if none follow. */
  const pruneAfter = Effect.fnUntraced(function* (start: PruneCursor, size: number) {
    const [end] = yield* sql<PruneCursor>`SELECT at, id FROM ledger_calls
      WHERE at >= ${start.at} AND (at, id) > (${start.at}, ${start.id}) AND at < ${before}
      ORDER BY at, id LIMIT 1 OFFSET ${size - 1}`
    const last = end ?? { at: before, id: "" }
    yield* sql`DELETE FROM ledger_calls
      WHERE at >= ${start.at} AND at <= ${last.at}
        AND (at, id) > (${start.at}, ${start.id}) AND (at, id) <= (${last.at}, ${last.id})
        AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.id = ledger_calls.job_id)`
    return end
  })

  let start = BEGIN
  yield* inBatches(BATCH, (size) =>
    Effect.map(pruneAfter(start, size), (end) => {
      start = end ?? start
      return end === undefined ? 0 : size
    }),
  )
}, unavailableUnlimited)

/** Prunes at start and then every hour, until its scope closes. */
export const layerLedgerRetention = (retention: Retention) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const now = DateTime.makeUnsafe(yield* unavailable(earlierTime(sql)))
      yield* pruneLedger(DateTime.toEpochMillis(DateTime.subtract(now, retention)))
    }).pipe((task) => regularly(task, EVERY), Effect.forkScoped),
  )
