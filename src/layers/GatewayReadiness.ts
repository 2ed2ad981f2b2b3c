/** Readiness and gauges of a gateway, for operators. */
import { statfs } from "node:fs/promises"
import { Duration, Effect, Fiber, Layer, Option, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import { withoutUndefined } from "../domain/json/withoutUndefined.ts"
import { READ_ONLY, sqlStateReason } from "../domain/problems/postgresErrors.ts"
import { queueObserved } from "../services/jobs/JobMetrics.ts"
import { Jobs } from "../services/jobs/Jobs.ts"
import { measure } from "../services/lifecycle/MeasuredGauges.ts"
import { ReadinessProbe } from "../services/lifecycle/ReadinessProbe.ts"
import { thisMoment } from "../services/moments.ts"
import { readOnly } from "../services/readOnly.ts"
import { databaseFailed, unavailableUnlimited } from "../services/storedRows.ts"
import { layerRuntimeMetrics } from "../services/lifecycle/RuntimeMetrics.ts"
import type { GatewaySettings } from "./config/gatewaySettings.ts"
import { logChanges } from "./logChanges.ts"

/** How long readiness and metrics wait for the database. */
const DATABASE_PATIENCE = Duration.seconds(2)

/** How long readiness waits for the count of open jobs, which large queues slow down: probes may wait only a second. */
const COUNT_PATIENCE = Duration.millis(500)

/** How long a result is reused, because the endpoint is public. */
const FRESH_MS = 1000

/** Least free disk space in bytes. A job with its task and steps may not fit in less. */
const ROOM = 8 * 1024 * 1024

/** How often the free disk space is checked, for the log. */
const LOOK_EVERY = Duration.seconds(10)

/** Why the disk is too full for an embedded database. Queries do not reveal it: a full disk can still be read. */
const makeFullness = (database: GatewaySettings["databaseUrl"]): Effect.Effect<string | undefined> => {
  if (database.kind !== "sqlite" || database.filename === ":memory:") return Effect.undefined
  const { filename } = database
  const full = `less than ${ROOM / 1024 / 1024} MiB are free on the disk of ${filename}`
  const { back, lost } = logChanges(
    () => Effect.logError(`The database cannot grow: ${full}. Free space there; until then this gateway is not ready`),
    Effect.logInfo(`The disk of ${filename} has room again`),
  )
  return Effect.tryPromise(() => statfs(filename)).pipe(
    // If the free space cannot be measured, nothing is reported.
    Effect.match({ onFailure: () => false, onSuccess: ({ bavail, bsize }) => bavail * bsize < ROOM }),
    Effect.tap((isFull) => (isFull ? lost(undefined) : back)),
    Effect.map((isFull) => (isFull ? full : undefined)),
  )
}

const AWAY = "it does not answer; the log has the reason"

/** Why the database cannot be used. Reads the queue by its key, so that its length does not matter. */
const faultOf = (sql: SqlClient.SqlClient): Effect.Effect<string | undefined> =>
  sql<{ state: string }>`SELECT ${readOnly(sql)} AS state, (SELECT COUNT(*) FROM jobs WHERE id = '') AS jobs`.pipe(
    unavailableUnlimited,
    Effect.map(([row]) => (row?.state === "on" ? sqlStateReason(READ_ONLY) : undefined)),
    Effect.catch(() => Effect.succeed(AWAY)),
    Effect.timeoutOrElse({
      duration: DATABASE_PATIENCE,
      orElse: () => Effect.as(databaseFailed("Timeout"), AWAY),
    }),
  )

/** Shares a fresh result. `Effect.cachedWithTTL` measures by the time of day, which may be set back. */
const makeFresh = <A>(effect: Effect.Effect<A>): Effect.Effect<Effect.Effect<A>> =>
  Effect.map(Semaphore.make(1), (turn) => {
    let known: { readonly value: A; readonly at: number } | undefined
    return turn.withPermit(
      Effect.gen(function* () {
        if (known !== undefined && (yield* thisMoment) - known.at < FRESH_MS) return known.value
        const value = yield* effect
        known = { value, at: yield* thisMoment }
        return value
      }),
    )
  })

/** Readiness, which depends on the database, and the gauges of process and queue. */
export const layerReadiness = (settings: Pick<GatewaySettings, "databaseUrl">) =>
  Layer.effect(
    ReadinessProbe,
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const fullness = makeFullness(settings.databaseUrl)
      yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(LOOK_EVERY), fullness)))
      const fault = yield* makeFresh(faultOf(yield* SqlClient.SqlClient))
      /** Counts of open jobs, if the database counts in time. */
      const queueState = yield* Effect.option(jobs.queueState).pipe(
        Effect.timeoutOption(DATABASE_PATIENCE),
        Effect.map(Option.flatten),
        makeFresh,
      )
      const scope = yield* Effect.scope
      /** Waits briefly for the count, which goes on for the next request. */
      const soon = Effect.forkIn(queueState, scope, { startImmediately: true }).pipe(
        Effect.flatMap(Fiber.join),
        Effect.timeoutOption(COUNT_PATIENCE),
        Effect.map(Option.flatten),
      )
      yield* measure(Effect.flatMap(queueState, Option.match({ onNone: () => Effect.void, onSome: queueObserved })))
      return yield* ReadinessProbe.make(
        Effect.map(Effect.all([fault, soon, fullness], { concurrency: "unbounded" }), ([away, queue, full]) => {
          const reason = away ?? full
          const ok = reason === undefined
          return {
            ok,
            members: {
              database: { kind: settings.databaseUrl.kind, ok, ...withoutUndefined({ reason }) },
              ...(Option.isSome(queue) ? { queue: { depth: queue.value.queued } } : {}),
            },
          }
        }),
      )
    }),
  ).pipe(Layer.merge(layerRuntimeMetrics("gateway")))
