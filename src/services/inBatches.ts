/** Removes or moves many rows in the background, in batches that let others write in between. */
import { Duration, Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { thisMoment } from "./moments.ts"

/** Milliseconds that a batch should take: the embedded database serves nothing else meanwhile. */
const AIM = 10
/** Pause after a batch, so that others come first. */
const PAUSE = Duration.millis(25)

/**
 * Pages of the embedded database's log after which it is copied into the file (SQLite's default). Commits wait for the
 * copy.
 */
const CHECKPOINT_PAGES = 1000
/**
 * The same while batches run. They change pages all over the file, so that copying 1000 of them takes several times as
 * long.
 */
const CHECKPOINT_PAGES_MEANWHILE = 200

/**
 * Runs `batch`, which returns how many rows it took, until one takes fewer than its size. The size follows the time that
 * batches take. Returns the number of all rows.
 */
export const inBatches = Effect.fnUntraced(function* <E, R>(
  { least, most }: { readonly least: number; readonly most: number },
  batch: (size: number) => Effect.Effect<number, E, R>,
): Effect.fn.Return<number, E | SqlError.SqlError, R | SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  const checkpointAfter = (pages: number) =>
    sql.onDialectOrElse({
      sqlite: () => Effect.asVoid(sql`PRAGMA wal_autocheckpoint = ${sql.literal(String(pages))}`),
      orElse: () => Effect.void,
    })
  let size = least
  let taken = 0
  const all = Effect.gen(function* () {
    for (;;) {
      const began = yield* thisMoment
      const rows = yield* batch(size)
      taken += rows
      if (rows < size) return taken
      const took = (yield* thisMoment) - began
      if (took > 2 * AIM) size = Math.max(least, size >> 1)
      else if (took < AIM) size = Math.min(most, size << 1)
      yield* Effect.sleep(PAUSE)
    }
  })
  return yield* Effect.acquireUseRelease(
    checkpointAfter(CHECKPOINT_PAGES_MEANWHILE),
    () => all,
    () => checkpointAfter(CHECKPOINT_PAGES),
  )
})
