/**
 * Lines in which jobs wait for a place: one line per concurrency key, and one per caller's key with a cap. A line has as
 * many places as its limit. A job gets its place before it begins and keeps it until it ends; the others are held back, and
 * claims skip them. Places of a line are given by one transaction at a time, so each counts those given before.
 */
import { Effect, Record } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import type { KeyId } from "../../domain/access/keys.ts"
import type { TenantId } from "../../domain/jobs/agent.ts"
import { skipLocked, unavailable } from "../storedRows.ts"
import { makeCoalesced } from "./coalesced.ts"
import { makeAdmittedRank } from "./ranks.ts"

/** The stored form of a tenant's key. Keys contain no spaces. */
export const storedKey = (tenant: TenantId, key: string): string => `${key} ${tenant}`
export const shownKey = (stored: string): string => stored.slice(0, stored.indexOf(" "))

/** Values of `held_back`: which line holds a job back. It waits in that of its concurrency key first. */
export const HELD_BY = { nothing: 0, concurrencyKey: 1, callerKey: 2 } as const

/** The columns of a job that say in which lines it is. */
export interface Lines {
  readonly concurrency_key: string | null
  readonly key_id: string | null
  /** `null` if the caller's key has no cap. */
  readonly key_limit: number | null
}
export const LINE_COLUMNS = "jobs.concurrency_key, jobs.key_id, jobs.key_limit"

/** Used as the cap of a key that has none. */
const UNCAPPED = 2 ** 31 - 1

/** SQL of the cap that the key of a job has now, or had if it was revoked. */
const capOf = (job: string) =>
  `COALESCE((SELECT COALESCE(max_running_jobs, ${UNCAPPED}) FROM gateway_keys WHERE gateway_keys.id = ${job}.key_id), ${job}.key_limit)`

/** SQL of a kind of line: the column of its name and of its limit, its jobs with and without a place, and their order. */
const CONCURRENCY_KEYS = {
  name: "concurrency_key",
  limit: "concurrency_limit",
  placed: "concurrency_key IS NOT NULL AND held_back <> 1 AND finished_at IS NULL",
  held: "held_back = 1 AND finished_at IS NULL",
  next: "CASE WHEN key_limit IS NULL THEN 0 ELSE 2 END",
  order: "due_at, id",
}
const CALLER_KEYS = {
  name: "key_id",
  limit: capOf("jobs"),
  placed: "key_limit IS NOT NULL AND held_back = 0 AND finished_at IS NULL",
  held: "held_back = 2 AND finished_at IS NULL",
  next: "0",
  order: "priority DESC, due_at, id",
}
type Kind = { readonly [Part in keyof typeof CONCURRENCY_KEYS]: Statement.Fragment }

/** SQL of `key_limit` and `held_back` of a job at the end of its lines. Its key may have changed since its caller was identified. */
export const newLines = (job: string) => {
  const cap = `NULLIF(${capOf(job)}, ${UNCAPPED})`
  return {
    key_limit: cap,
    held_back: `CASE WHEN concurrency_key IS NOT NULL THEN 1 WHEN ${cap} IS NOT NULL THEN 2 ELSE 0 END`,
  }
}

const BATCH = 100

export const makeConcurrency = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, wake: Effect.Effect<void>) {
  const rank = makeAdmittedRank(sql)
  const [concurrencyKeys, callerKeys] = [
    Record.map(CONCURRENCY_KEYS, sql.literal),
    Record.map(CALLER_KEYS, sql.literal),
  ]
  const lines = sql.literal(LINE_COLUMNS)
  // The statement after the lock begins when it is held, and so counts the places that its last holder gave.
  const lock = sql.onDialectOrElse({
    pg: () => (name: string) => sql`SELECT pg_advisory_xact_lock(hashtextextended(${`concurrency:${name}`}, 0))`,
    orElse: () => (_name: string) => Effect.void,
  })

  // An array: Postgres would otherwise choose anew for each job that is held back.
  const among = sql.onDialectOrElse({
    pg: () => (ids: Statement.Fragment) => sql`= ANY (ARRAY(${ids}))`,
    orElse: () => (ids: Statement.Fragment) => sql`IN (${ids})`,
  })

  const give = Effect.fnUntraced(function* ({ held, limit, name, next, order, placed }: Kind, of: string) {
    yield* lock(of)
    const first = sql`SELECT id FROM (
          SELECT id, ROW_NUMBER() OVER (ORDER BY ${order}) AS turn, MIN(most) OVER (ORDER BY ${order}) AS most
          FROM (SELECT id, priority, due_at, ${limit} AS most FROM jobs WHERE ${name} = ${of} AND ${held}
            ORDER BY ${order} LIMIT ${BATCH}) AS first) AS line
        CROSS JOIN (SELECT COUNT(*) AS jobs, MIN(${limit}) AS most FROM jobs
          WHERE ${name} = ${of} AND ${placed}) AS placed
        WHERE placed.jobs + turn <= line.most AND placed.jobs + turn <= COALESCE(placed.most, line.most)`
    const rows = yield* sql<Lines & { held_back: number }>`UPDATE jobs SET
      held_back = ${next}, rank = ${rank} WHERE ${held} AND id ${among(first)}
      RETURNING ${lines}, held_back`
    if (rows.some(({ held_back }) => held_back === HELD_BY.nothing)) yield* wake
    const keys = rows.flatMap((row) => (row.held_back === HELD_BY.callerKey ? (row.key_id ?? []) : []))
    yield* Effect.forEach(new Set(keys), (key) => giveLater(callerKeys, key), { discard: true })
    return rows.length
  }, sql.withTransaction)

  const giveAll = (kind: Kind) =>
    makeCoalesced((of) =>
      Effect.ignore(unavailable(Effect.repeat(give(kind, of), { while: (given: number) => given === BATCH }))),
    )
  const giving: ReadonlyMap<Kind, (of: string) => Effect.Effect<void>> = new Map([
    [concurrencyKeys, yield* giveAll(concurrencyKeys)],
    [callerKeys, yield* giveAll(callerKeys)],
  ])
  const giveLater = (kind: Kind, of: string): Effect.Effect<void> =>
    sql.afterCommit(giving.get(kind)?.(of) ?? Effect.void)

  /** Gives the free places of a job's lines once the transaction commits, first those of its concurrency key. */
  const admit = Effect.fnUntraced(function* ({ concurrency_key, key_id, key_limit }: Lines) {
    if (concurrency_key !== null) yield* giveLater(concurrencyKeys, concurrency_key)
    if (key_id !== null && key_limit !== null) yield* giveLater(callerKeys, key_id)
  })

  /** Gives places that are still free, because a job failed by crashes or a process died before it could give them. */
  const admitLeft = Effect.forEach(
    [concurrencyKeys, callerKeys],
    Effect.fnUntraced(function* (kind) {
      const { held, limit, name, order, placed } = kind
      const next = sql`SELECT MIN(${name}) FROM jobs WHERE ${held}`
      const rows = yield* sql<{ line: string }>`WITH RECURSIVE lines (line) AS (
        SELECT (${next}) UNION ALL SELECT (${next} AND ${name} > lines.line) FROM lines WHERE line IS NOT NULL
      ) SELECT line FROM lines WHERE (SELECT COUNT(*) FROM jobs WHERE ${name} = line AND ${placed}) < (
        SELECT MIN(most) FROM (
          SELECT ${limit} AS most FROM jobs WHERE ${name} = line AND ${placed}
          UNION ALL SELECT most FROM (SELECT ${limit} AS most FROM jobs
            WHERE ${name} = line AND ${held} ORDER BY ${order} LIMIT 1) AS first) AS limits)`
      yield* Effect.forEach(rows, ({ line }) => giveLater(kind, line), { discard: true })
    }, unavailable),
    { discard: true },
  )

  return { admit, admitLeft, cap: makeCap(sql, { giveLater: (key) => giveLater(callerKeys, key), lock, wake }) }
})

/**
 * Returns a function that gives the open jobs of a caller's key its present cap. Those that have not begun wait for a place
 * anew. Skips locked rows, then writes one at a time: waiting for a row while others are locked could deadlock.
 */
const makeCap = (
  sql: SqlClient.SqlClient,
  {
    giveLater,
    lock,
    wake,
  }: {
    readonly giveLater: (key: KeyId) => Effect.Effect<void>
    readonly lock: (line: string) => Effect.Effect<unknown, SqlError.SqlError>
    readonly wake: Effect.Effect<void>
  },
) => {
  return Effect.fnUntraced(function* (tenant: TenantId, key: KeyId) {
    const cap = sql`(SELECT max_running_jobs FROM gateway_keys WHERE id = ${key} AND tenant = ${tenant})`
    const others = sql`SELECT id FROM jobs WHERE tenant = ${tenant} AND key_id = ${key} AND finished_at IS NULL
      AND status IN ('queued', 'running', 'input_required') AND held_back IN (0, 1, 2)
      AND COALESCE(key_limit, 0) <> COALESCE(${cap}, 0)`
    const write = Effect.fnUntraced(function* (ids: Statement.Fragment) {
      yield* lock(key)
      yield* sql`UPDATE jobs SET key_limit = ${cap}, held_back = CASE
        WHEN held_back = 2 OR (held_back = 0 AND started_at IS NULL) THEN CASE WHEN ${cap} IS NULL THEN 0 ELSE 2 END
        ELSE held_back END WHERE id IN (${ids}) AND finished_at IS NULL`
    }, sql.withTransaction)
    yield* write(sql`${others} ${skipLocked(sql, "NO KEY UPDATE")}`)
    for (const { id } of yield* sql<{ id: string }>`${others}`) yield* write(sql`SELECT ${id}`)
    yield* wake
    yield* giveLater(key)
  }, unavailable)
}
