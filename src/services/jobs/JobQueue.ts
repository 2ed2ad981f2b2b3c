/**
 * Which job comes next, and whose turn it is. The queue is `effect/persistence`'s on this database: its `offer` is a
 * statement like any other, so it joins the transaction that writes the job, and it wakes local workers only once that
 * commits. The queue decides about delivery only (leases, delays, redelivery after a crash); what a job is and how often
 * it was tried is in its row, and an element that no longer fits the row is dropped.
 */
import { Context, Duration, Effect, Layer, References, Schema } from "effect"
import { PersistedQueue } from "effect/persistence"
import { SqlClient } from "effect/sql"
import { JobId } from "../../domain/job.ts"
import { StorageUnavailable } from "../../domain/storage.ts"
import { unavailable } from "../storedRows.ts"
import { JobSettings } from "./JobSettings.ts"

/** One turn of one job. */
const Element = Schema.Struct({ job: JobId, turn: Schema.Int })
export type Element = typeof Element.Type

/** Deliveries are not bounded here: the queue counts crashes and shutdowns too. */
const NO_LIMIT = 2 ** 31 - 1
const TABLE = "job_queue"
/** How long an element that was dealt with is kept. */
const KEEP_DONE = Duration.hours(1)

export class JobQueue extends Context.Service<
  JobQueue,
  {
    /** Once per turn, however often it is called. Delays are rounded up to whole seconds. */
    readonly offer: (element: Element, delay?: Duration.Duration) => Effect.Effect<void, StorageUnavailable>
    /**
     * Waits for an element and works on it. It comes back when `work` fails or the process dies; when `work` is
     * interrupted it is free for others at once.
     */
    readonly take: <A, E, R>(
      work: (element: Element) => Effect.Effect<A, E, R>,
    ) => Effect.Effect<A, E | StorageUnavailable, R>
  }
>()("sealgate/services/jobs/JobQueue") {
  static readonly layer = Layer.unwrap(
    Effect.map(JobSettings, (settings) =>
      Layer.effect(JobQueue, make).pipe(
        Layer.provide(PersistedQueue.layer),
        Layer.provide(PersistedQueue.layerCleanup({ interval: settings.pruneEvery, timeToLive: KEEP_DONE })),
        Layer.provide(
          PersistedQueue.layerStoreSql({
            tableName: TABLE,
            pollInterval: settings.poll,
            lockRefreshInterval: settings.leaseRefresh,
            lockExpiration: settings.lease,
          }),
        ),
        // Looking for work every second would fill a trace store with spans that say nothing.
        Layer.provide(Layer.succeed(References.TracerEnabled, false)),
        // While the database is away, it would log what it was told there twice a second, and that may quote rows.
        Layer.provide(Layer.succeed(References.MinimumLogLevel, "Error")),
      ),
    ),
  )
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const queue = yield* PersistedQueue.make({ name: "jobs", schema: Element, maxAttempts: NO_LIMIT })

  // The embedded database has one process: whatever is claimed at its start was claimed by one that died.
  yield* sql.onDialectOrElse({
    sqlite: () => sql`UPDATE ${sql(TABLE)} SET acquired_at = NULL, acquired_by = NULL WHERE acquired_by IS NOT NULL`,
    orElse: () => Effect.void,
  })

  return JobQueue.of({
    offer: (element, delay) =>
      queue.offer(element, { id: `${element.job}:${element.turn}`, delay }).pipe(
        Effect.catchTag("SchemaError", Effect.die),
        Effect.catchTag("PersistedQueueError", () => Effect.fail(new StorageUnavailable())),
      ),
    take: (work) =>
      Effect.catchIf(
        queue.take(work),
        (error) => error instanceof PersistedQueue.PersistedQueueError,
        () => Effect.fail(new StorageUnavailable()),
      ),
  })
}).pipe(unavailable)
