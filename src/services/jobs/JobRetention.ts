/** Removes expired rows: ended jobs with their steps, idempotency keys, and threads without jobs. */
import { Clock, Duration, Effect, Layer } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { regularly } from "../background.ts"
import { inBatches } from "../inBatches.ts"
import { unavailableUnlimited } from "../storedRows.ts"
import { JobSettings } from "./JobSettings.ts"

/** The least and most rows per transaction; a job has all its steps. */
const BATCH = { least: 5, most: 100 }

const inBatchesOf = (remove: (size: number) => Statement.Statement<unknown>) =>
  inBatches(BATCH, (size) => Effect.map(remove(size), ({ length }) => length))

/** Removes all expired rows; returns the number of removed jobs. */
export const prune = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const now = yield* Clock.currentTimeMillis
  const { retention } = yield* JobSettings
  yield* inBatchesOf(
    (size) => sql`DELETE FROM idempotency_keys WHERE (tenant, route, key) IN
      (SELECT tenant, route, key FROM idempotency_keys WHERE expires_at <= ${now} LIMIT ${size}) RETURNING key`,
  )
  yield* inBatchesOf(
    (size) => sql`DELETE FROM threads WHERE id IN
      (SELECT id FROM threads WHERE created_at <= ${now - Duration.toMillis(retention)}
        AND NOT EXISTS (SELECT 1 FROM jobs WHERE thread = threads.id) LIMIT ${size}) RETURNING id`,
  )
  // A job stays as long as its idempotency key: otherwise a repeated request would create a second job.
  return yield* inBatchesOf(
    (size) => sql`DELETE FROM jobs WHERE id IN
      (SELECT id FROM jobs WHERE finished_at IS NOT NULL AND expires_at <= ${now}
        AND NOT EXISTS (SELECT 1 FROM idempotency_keys WHERE job_id = jobs.id) LIMIT ${size}) RETURNING id`,
  )
}).pipe(unavailableUnlimited, Effect.withSpan("JobRetention.prune"))

/** Prunes at start and then at intervals, until its scope closes. */
export const layerJobRetention = Layer.effectDiscard(
  Effect.gen(function* () {
    const { pruneEvery } = yield* JobSettings
    yield* Effect.forkScoped(regularly(prune, pruneEvery))
  }),
)
