/** Readiness and gauges of a gateway, for operators. */
import { statfs } from "node:fs/promises"
import { Duration, Effect, Layer, Option } from "effect"
import { queueObserved } from "../services/jobs/JobMetrics.ts"
import { Jobs } from "../services/jobs/Jobs.ts"
import { measure } from "../services/lifecycle/MeasuredGauges.ts"
import { ReadinessProbe } from "../services/lifecycle/ReadinessProbe.ts"
import { layerRuntimeMetrics } from "../services/lifecycle/RuntimeMetrics.ts"
import type { GatewaySettings } from "./config/gatewaySettings.ts"

/** How long readiness and metrics wait for the database. */
const DATABASE_PATIENCE = Duration.seconds(2)

/** How long a result is reused. The endpoint is public, and each query counts the open jobs. */
const FRESH = Duration.seconds(1)

/** Least free disk space in bytes. A job with its task and steps may not fit in less. */
const ROOM = 8 * 1024 * 1024

/** Whether the disk of an embedded database has room. A full disk can still be read, so queries do not reveal it. */
const hasRoom = (database: GatewaySettings["databaseUrl"]): Effect.Effect<boolean> => {
  if (database.kind !== "sqlite" || database.filename === ":memory:") return Effect.succeed(true)
  const space = Effect.tryPromise(() => statfs(database.filename))
  return Effect.match(space, { onFailure: () => true, onSuccess: ({ bavail, bsize }) => bavail * bsize >= ROOM })
}

/** Readiness, which depends on the database, and the gauges of process and queue. */
export const layerReadiness = (settings: Pick<GatewaySettings, "databaseUrl">) =>
  Layer.effect(
    ReadinessProbe,
    Effect.gen(function* () {
      const jobs = yield* Jobs
      /** Counts of open jobs, if the database answers in time. */
      const queueState = yield* Effect.option(jobs.queueState).pipe(
        Effect.timeoutOption(DATABASE_PATIENCE),
        Effect.map(Option.flatten),
        Effect.cachedWithTTL(FRESH),
      )
      yield* measure(Effect.flatMap(queueState, Option.match({ onNone: () => Effect.void, onSome: queueObserved })))
      return yield* ReadinessProbe.make(
        Effect.map(Effect.all([queueState, hasRoom(settings.databaseUrl)]), ([queue, isRoomy]) => {
          const ok = Option.isSome(queue) && isRoomy
          return {
            ok,
            members: {
              database: { kind: settings.databaseUrl.kind, ok },
              ...(Option.isSome(queue) ? { queue: { depth: queue.value.queued } } : {}),
            },
          }
        }),
      )
    }),
  ).pipe(Layer.merge(layerRuntimeMetrics("gateway")))
