/** Removes expired rows: ended jobs with their steps, idempotency keys, and threads without jobs. */
import { Clock, Duration, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { unavailableUnlimited } from "../storedRows.ts"
import { JobSettings } from "./JobSettings.ts"

/** Rows removed per transaction, so that a large backlog holds no lock for long. */
const BATCH = 500

/** Removes all expired rows; returns the number of removed jobs. */
export const prune = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const now = yield* Clock.currentTimeMillis
  yield* sql`DELETE FROM idempotency_keys WHERE expires_at <= ${now}`
  // A job stays as long as its idempotency key: otherwise a repeated request would create a second job.
  const batch = Effect.map(
    sql`DELETE FROM jobs WHERE id IN
      (SELECT id FROM jobs WHERE finished_at IS NOT NULL AND expires_at <= ${now}
        AND NOT EXISTS (SELECT 1 FROM idempotency_keys WHERE job_id = jobs.id) LIMIT ${BATCH}) RETURNING id`,
    (rows) => rows.length,
  )
  const { retention } = yield* JobSettings
  yield* sql`DELETE FROM threads WHERE created_at <= ${now - Duration.toMillis(retention)}
    AND NOT EXISTS (SELECT 1 FROM jobs WHERE thread = threads.id)`
  let removed = 0
  let last: number
  do {
    last = yield* batch
    removed += last
  } while (last === BATCH)
  return removed
}).pipe(unavailableUnlimited, Effect.withSpan("JobRetention.prune"))

/** Prunes at start and then at intervals, until its scope closes. */
export const layerJobRetention = Layer.effectDiscard(
  Effect.gen(function* () {
    const { pruneEvery } = yield* JobSettings
    yield* Effect.ignore(prune).pipe(Effect.repeat(Schedule.spaced(pruneEvery)), Effect.forkScoped)
  }),
)
