/** What the gateway tells operators of itself. */
import { Duration, Effect, Layer, Option } from "effect"
import { queueObserved } from "../services/jobs/JobMetrics.ts"
import { Jobs } from "../services/jobs/Jobs.ts"
import { Drain } from "../services/lifecycle/Drain.ts"
import { providerReadiness, ReadinessProbe } from "../services/lifecycle/ReadinessProbe.ts"
import { RuntimeMetrics } from "../services/lifecycle/RuntimeMetrics.ts"
import { TlsStatus } from "../services/lifecycle/TlsStatus.ts"
import { Upstream } from "../services/upstream/Upstream.ts"
import type { GatewaySettings } from "./GatewayAccess.ts"

/** How long readiness and metrics wait for the database. */
const DATABASE_PATIENCE = Duration.seconds(2)

/** The jobs that wait or run, if the database answers soon. */
const queueState = Effect.fnUntraced(function* (jobs: Jobs["Service"]) {
  return Option.flatten(yield* Effect.timeoutOption(Effect.option(jobs.queueState), DATABASE_PATIENCE))
})

/** Ready: not draining, the database answers, and a circuit lets calls through. */
export const layerReadiness = (settings: Pick<GatewaySettings, "databaseUrl">) =>
  Layer.effect(
    ReadinessProbe,
    Effect.gen(function* () {
      const upstream = yield* Upstream
      const jobs = yield* Jobs
      const drain = yield* Drain
      const tls = yield* TlsStatus
      return ReadinessProbe.of({
        report: Effect.gen(function* () {
          const draining = yield* drain.draining
          const providers = (yield* upstream.status).map(providerReadiness)
          const usable = providers.some((provider) => provider.circuit !== "open")
          const queue = yield* queueState(jobs)
          return {
            status: !draining && usable && Option.isSome(queue) ? ("ready" as const) : ("unavailable" as const),
            draining,
            providers,
            tls: yield* tls,
            database: { kind: settings.databaseUrl.kind, ok: Option.isSome(queue) },
            ...(Option.isSome(queue) ? { queue: { depth: queue.value.queued } } : {}),
          }
        }),
      })
    }),
  )

/** The process's gauges and the queue's. */
export const layerMetrics = Layer.effect(
  RuntimeMetrics,
  Effect.gen(function* () {
    const { refresh } = yield* RuntimeMetrics
    const jobs = yield* Jobs
    const refreshQueue = Effect.flatMap(
      queueState(jobs),
      Option.match({ onNone: () => Effect.void, onSome: queueObserved }),
    )
    return RuntimeMetrics.of({ refresh: Effect.andThen(refresh, refreshQueue) })
  }),
).pipe(Layer.provide(RuntimeMetrics.layer))
