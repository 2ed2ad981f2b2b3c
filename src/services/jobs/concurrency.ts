/**
 * Concurrency keys. At most `limit` jobs with one key have a place, from before they begin until they end; the others are
 * held back, and claims do not see them. Places are given one key at a time, each time after all earlier ones are visible.
 */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { TenantId } from "../../domain/jobs/agent.ts"
import { MAX_CONCURRENCY } from "../../domain/jobs/concurrency.ts"
import { unavailable } from "../storedRows.ts"
import { makeAdmittedRank } from "./ranks.ts"

/** The stored form of a tenant's key. Keys contain no spaces. */
export const storedKey = (tenant: TenantId, key: string): string => `${key} ${tenant}`
export const shownKey = (stored: string): string => stored.slice(0, stored.indexOf(" "))

export const makeConcurrency = (sql: SqlClient.SqlClient, wake: Effect.Effect<void>) => {
  const isHeldBack = sql.literal("held_back = 1 AND finished_at IS NULL")
  const hasPlace = sql.literal("concurrency_key IS NOT NULL AND held_back = 0 AND finished_at IS NULL")
  const rank = makeAdmittedRank(sql)
  // The statement after the lock begins when it is held, and so counts the places that its last holder gave.
  const lock = sql.onDialectOrElse({
    pg: () => (key: string) => sql`SELECT pg_advisory_xact_lock(hashtextextended(${`concurrency:${key}`}, 0))`,
    orElse: () => (_key: string) => Effect.void,
  })

  const give = Effect.fnUntraced(function* (key: string) {
    yield* lock(key)
    const rows = yield* sql`UPDATE jobs SET held_back = 0, rank = ${rank} WHERE ${isHeldBack} AND id IN (
        SELECT id FROM (
          SELECT id, ROW_NUMBER() OVER (ORDER BY due_at, id) AS turn,
            MIN(concurrency_limit) OVER (ORDER BY due_at, id) AS most
          FROM (SELECT id, due_at, concurrency_limit FROM jobs WHERE concurrency_key = ${key} AND ${isHeldBack}
            ORDER BY due_at, id LIMIT ${MAX_CONCURRENCY}) AS first) AS line
        CROSS JOIN (SELECT COUNT(*) AS jobs, COALESCE(MIN(concurrency_limit), ${MAX_CONCURRENCY}) AS most FROM jobs
          WHERE concurrency_key = ${key} AND ${hasPlace}) AS placed
        WHERE placed.jobs + turn <= line.most AND placed.jobs + turn <= placed.most)
      RETURNING id`
    if (rows.length > 0) yield* wake
  }, sql.withTransaction)

  /** Gives free places to the jobs of a key, in their order, once the transaction commits. */
  const admit = (key: string | null): Effect.Effect<void> =>
    key === null ? Effect.void : sql.afterCommit(Effect.ignore(unavailable(give(key))))

  /** Does so for the keys with a place that nobody gave: its job was given up, or its process died. */
  const admitLeft = Effect.gen(function* () {
    const next = sql.literal(`SELECT MIN(concurrency_key) FROM jobs WHERE held_back = 1 AND finished_at IS NULL`)
    const rows = yield* sql<{ key: string }>`WITH RECURSIVE keys (key) AS (
        SELECT (${next}) UNION ALL SELECT (${next} AND concurrency_key > keys.key) FROM keys WHERE key IS NOT NULL
      ) SELECT key FROM keys WHERE (SELECT COUNT(*) FROM jobs WHERE concurrency_key = key AND ${hasPlace}) < (
        SELECT MIN(concurrency_limit) FROM (
          SELECT concurrency_limit FROM jobs WHERE concurrency_key = key AND ${hasPlace}
          UNION ALL SELECT concurrency_limit FROM (SELECT concurrency_limit FROM jobs
            WHERE concurrency_key = key AND ${isHeldBack} ORDER BY due_at, id LIMIT 1) AS first) AS limits)`
    yield* Effect.forEach(rows, ({ key }) => admit(key), { discard: true })
  }).pipe(unavailable)

  return { admit, admitLeft }
}
