/** Removes expired rows: ended jobs with their steps, idempotency keys, and threads without jobs. */
import { Duration, Effect, Layer } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { regularly } from "../background.ts"
import { earlierTime } from "../databaseTime.ts"
import { inBatches } from "../inBatches.ts"
import { unavailableUnlimited } from "../storedRows.ts"
import { RETRY_FOR } from "../webhooks/outbox.ts"
import { JobSettings } from "./JobSettings.ts"

/** The least and most rows per transaction; a job has all its steps. */
const BATCH = { least: 5, most: 100 }

const inBatchesOf = (remove: (size: number) => Statement.Statement<unknown>) =>
  inBatches(BATCH, (size) => Effect.map(remove(size), ({ length }) => length))

/** Returns a function that removes threads that are as old and have no jobs. */
const makeRemoveThreads = (sql: SqlClient.SqlClient, before: number) => {
  const isEmpty = sql`NOT EXISTS (SELECT 1 FROM jobs WHERE thread = threads.id)`
  // Skips locked rows: new jobs lock threads in any order, so waiting could deadlock.
  const locked = sql.onDialectOrElse({ pg: () => sql`FOR UPDATE SKIP LOCKED`, orElse: () => sql`` })
  return Effect.fnUntraced(function* (size: number) {
    const found = yield* sql<{ id: string }>`SELECT id FROM threads
      WHERE created_at <= ${before} AND ${isEmpty} LIMIT ${size} ${locked}`
    // Checks for jobs again: one may have been created before its thread was locked.
    if (found.length > 0) {
      yield* sql`DELETE FROM threads WHERE id IN ${sql.in(found.map(({ id }) => id))} AND ${isEmpty}`
    }
    return found.length
  }, sql.withTransaction)
}

/** Removes all expired rows; returns the number of removed jobs. */
export const prune = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const now = yield* earlierTime(sql)
  const { retention } = yield* JobSettings
  yield* inBatchesOf(
    (size) => sql`DELETE FROM idempotency_keys WHERE (tenant, route, key) IN
      (SELECT tenant, route, key FROM idempotency_keys WHERE expires_at <= ${now} LIMIT ${size}) RETURNING key`,
  )
  yield* inBatches(BATCH, makeRemoveThreads(sql, now - Duration.toMillis(retention)))
  // A job is kept as long as its idempotency key, because a repeated request would otherwise create a second job, and
  // as long as its webhooks are attempted.
  const noticedAfter = now - Duration.toMillis(RETRY_FOR)
  return yield* inBatchesOf(
    (size) => sql`DELETE FROM jobs WHERE id IN
      (SELECT id FROM jobs WHERE finished_at IS NOT NULL AND expires_at <= ${now}
        AND NOT EXISTS (SELECT 1 FROM idempotency_keys WHERE job_id = jobs.id)
        AND NOT EXISTS (SELECT 1 FROM webhook_deliveries
          WHERE job_id = jobs.id AND outcome IS NULL AND created_at > ${noticedAfter})
        LIMIT ${size}) RETURNING id`,
  )
}).pipe(unavailableUnlimited, Effect.withSpan("JobRetention.prune"))

/** Prunes at start and then at intervals, until its scope closes. */
export const layerJobRetention = Layer.effectDiscard(
  Effect.gen(function* () {
    const { pruneEvery } = yield* JobSettings
    yield* Effect.forkScoped(regularly(prune, pruneEvery))
  }),
)
