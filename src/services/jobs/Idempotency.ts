/** `Idempotency-Key`: repeats of a request share one job or answer. The change's transaction also writes the record. */
import { isObject } from "../../domain/json/json.ts"
import { createHash } from "node:crypto"
import { Clock, Duration, Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { TenantId } from "../../domain/jobs/agent.ts"
import {
  IdempotencyInFlight,
  type IdempotencyKey,
  IdempotencyMismatch,
  type Job,
  type JobId,
} from "../../domain/jobs/job.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"

const KEPT_MS = Duration.toMillis(Duration.hours(24))

/** The time of a schedule, which gives one job. */
export interface ScheduledTime {
  readonly scheduleId: string
  /** In milliseconds since the epoch. */
  readonly at: number
}

/** The route and key of a request to execute. Keys of schedules are kept apart, so that callers cannot use them. */
export const executionKey = (agentId: string, key: IdempotencyKey | ScheduledTime) =>
  typeof key === "string"
    ? { route: `agents/${agentId}/execute`, key }
    : { route: `schedules/${key.scheduleId}`, key: String(key.at) }

/** The job that an earlier request with the key created or answered. */
interface Replayed {
  readonly replayed: JobId
}

/** The request that a key stands for: one body, sent by one tenant to one route. `body` is JSON. */
export interface KeyedRequest {
  readonly tenant: TenantId
  readonly route: string
  readonly key: string
  readonly body: unknown
}

/** An answer to a question of a job, under the key that its client gave it. `body` is JSON. */
export interface NamedAnswer {
  readonly key: string
  readonly body: unknown
}

export const answerRequest = (tenant: TenantId, job: JobId, { body, key }: NamedAnswer): KeyedRequest => ({
  tenant,
  route: `jobs/${job}/input`,
  key,
  body,
})

export const makeKeyRecords = (sql: SqlClient.SqlClient) => ({
  /** The job of an earlier request with this key, if any. */
  earlier: Effect.fnUntraced(function* ({ body, key, route, tenant }: KeyedRequest) {
    const now = yield* Clock.currentTimeMillis
    const rows = yield* sql<{ fingerprint: string; job_id: JobId }>`SELECT fingerprint, job_id FROM idempotency_keys
      WHERE tenant = ${tenant} AND route = ${route} AND key = ${key} AND expires_at > ${now}`
    if (rows[0] !== undefined && rows[0].fingerprint !== fingerprintOf(body)) return yield* new IdempotencyMismatch()
    return rows[0] === undefined ? undefined : ({ replayed: rows[0].job_id } satisfies Replayed)
  }),

  /** Call it in the transaction of the request. Returns `false` if the key has a record that has not expired. */
  add: Effect.fnUntraced(function* ({ body, key, route, tenant }: KeyedRequest, job: JobId) {
    const now = yield* Clock.currentTimeMillis
    const row = { tenant, route, key, fingerprint: fingerprintOf(body), job_id: job, expires_at: now + KEPT_MS }
    const added = yield* sql`INSERT INTO idempotency_keys ${sql.insert(row)}
      ON CONFLICT (tenant, route, key) DO UPDATE
        SET fingerprint = excluded.fingerprint, job_id = excluded.job_id, expires_at = excluded.expires_at
        WHERE idempotency_keys.expires_at <= ${now} RETURNING key`
    return added.length > 0
  }),
})

/**
 * Returns a function that creates a job once per key. It runs `prepare`, then `create` in a transaction, and remembers
 * the job; or it returns the id of the job that an earlier request with this key and body created within 24 hours. Fails
 * if the body differs, or, on Postgres, if a request with the key is running.
 */
export const makeIdempotency = (sql: SqlClient.SqlClient) => {
  const { add, earlier } = makeKeyRecords(sql)
  /** A lock that ends with the transaction. The embedded database has one transaction at a time. */
  const lock = sql.onDialectOrElse({
    pg: () =>
      Effect.fnUntraced(function* (id: string) {
        const rows = yield* sql<{ free: boolean }>`SELECT pg_try_advisory_xact_lock(hashtextextended(${id}, 0)) AS free`
        if (rows[0]?.free !== true) return yield* new IdempotencyInFlight()
      }),
    orElse: () => (_id: string) => Effect.void,
  })

  return <A, E, R, E2 = never>(
    request: KeyedRequest,
    prepare: Effect.Effect<A, E, R>,
    create: (prepared: A) => Effect.Effect<Job, E2 | SqlError.SqlError | StorageUnavailable>,
  ): Effect.Effect<
    Job | Replayed,
    E | E2 | SqlError.SqlError | StorageUnavailable | IdempotencyMismatch | IdempotencyInFlight,
    R
  > => {
    const { key, route, tenant } = request
    const write = Effect.fnUntraced(function* (prepared: A) {
      yield* lock(JSON.stringify([tenant, route, key]))
      const known = yield* earlier(request)
      if (known !== undefined) return known
      const job = yield* create(prepared)
      return (yield* add(request, job.id)) ? job : yield* new IdempotencyInFlight()
    }, sql.withTransaction)
    const once = Effect.gen(function* () {
      return (yield* earlier(request)) ?? (yield* write(yield* prepare))
    })
    // The request that holds the lock may itself only be reading an earlier job.
    return Effect.catchIf(
      once,
      (error) => error instanceof IdempotencyInFlight,
      (refusal) =>
        Effect.flatMap(earlier(request), (known) =>
          known === undefined ? Effect.fail(refusal) : Effect.succeed(known),
        ),
    )
  }
}

/** SHA-256 of the JSON with its members sorted, so that formatting does not count. */
const fingerprintOf = (body: unknown): string =>
  createHash("sha256")
    .update(JSON.stringify(body, (_, value: unknown) => (isObject(value) ? sorted(value) : value)))
    .digest("base64url")

const sorted = (record: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)))
