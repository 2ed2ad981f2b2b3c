/** What the gateway tells operators of itself. */
import { Duration, Effect, Layer, Option } from "effect"
import { queueObserved } from "../services/jobs/JobMetrics.ts"
import { Jobs } from "../services/jobs/Jobs.ts"
import { measure } from "../services/lifecycle/Measurements.ts"
import { ReadinessProbe } from "../services/lifecycle/ReadinessProbe.ts"
import * as RuntimeMetrics from "../services/lifecycle/RuntimeMetrics.ts"
import type { GatewaySettings } from "./GatewayAccess.ts"

/** How long readiness and metrics wait for the database. */
const DATABASE_PATIENCE = Duration.seconds(2)

/** The jobs that wait or run, if the database answers soon. */
const queueState = Effect.fnUntraced(function* (jobs: Jobs["Service"]) {
  return Option.flatten(yield* Effect.timeoutOption(Effect.option(jobs.queueState), DATABASE_PATIENCE))
})

/** Beside what every server needs, the database has to answer. */
export const layerReadiness = (settings: Pick<GatewaySettings, "databaseUrl">) =>
  Layer.effect(
    ReadinessProbe,
    Effect.flatMap(Jobs, (jobs) =>
      ReadinessProbe.make(
        Effect.map(queueState(jobs), (queue) => ({
          ok: Option.isSome(queue),
          members: {
            database: { kind: settings.databaseUrl.kind, ok: Option.isSome(queue) },
            ...(Option.isSome(queue) ? { queue: { depth: queue.value.queued } } : {}),
          },
        })),
      ),
    ),
  )

/** The process's gauges and the queue's. */
export const layerMetrics = Layer.merge(
  RuntimeMetrics.layer("gateway"),
  Layer.effectDiscard(
    Effect.flatMap(Jobs, (jobs) =>
      measure(Effect.flatMap(queueState(jobs), Option.match({ onNone: () => Effect.void, onSome: queueObserved }))),
    ),
  ),
)
