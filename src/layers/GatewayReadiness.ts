/** What a gateway reports about itself to operators. */
import { Duration, Effect, Layer, Option } from "effect"
import { queueObserved } from "../services/jobs/JobMetrics.ts"
import { Jobs } from "../services/jobs/Jobs.ts"
import { measure } from "../services/lifecycle/MeasuredGauges.ts"
import { ReadinessProbe } from "../services/lifecycle/ReadinessProbe.ts"
import { layerRuntimeMetrics } from "../services/lifecycle/RuntimeMetrics.ts"
import type { GatewaySettings } from "./config/gatewaySettings.ts"

/** How long readiness and metrics wait for the database. */
const DATABASE_PATIENCE = Duration.seconds(2)

/** How long a result of the database is reused: anybody may ask, and each query counts the open jobs. */
const FRESH = Duration.seconds(1)

/** Readiness, which includes an answer of the database, and the gauges of process and queue. */
export const layerReadiness = (settings: Pick<GatewaySettings, "databaseUrl">) =>
  Layer.effect(
    ReadinessProbe,
    Effect.gen(function* () {
      const jobs = yield* Jobs
      /** The number of jobs that wait or run, if the database answers soon. */
      const queueState = yield* Effect.option(jobs.queueState).pipe(
        Effect.timeoutOption(DATABASE_PATIENCE),
        Effect.map(Option.flatten),
        Effect.cachedWithTTL(FRESH),
      )
      yield* measure(Effect.flatMap(queueState, Option.match({ onNone: () => Effect.void, onSome: queueObserved })))
      return yield* ReadinessProbe.make(
        Effect.map(queueState, (queue) => ({
          ok: Option.isSome(queue),
          members: {
            database: { kind: settings.databaseUrl.kind, ok: Option.isSome(queue) },
            ...(Option.isSome(queue) ? { queue: { depth: queue.value.queued } } : {}),
          },
        })),
      )
    }),
  ).pipe(Layer.merge(layerRuntimeMetrics("gateway")))
