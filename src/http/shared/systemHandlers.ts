import { Effect, Metric } from "effect"
import { HttpServerResponse } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import { SOFTWARE } from "../../domain/software.ts"
import { measure, measureAll } from "../../services/lifecycle/Measurements.ts"
import { ReadinessProbe } from "../../services/lifecycle/ReadinessProbe.ts"
import { gauge } from "../../services/metrics.ts"

const readiness = gauge("sealgate_ready")()

/** Handlers of the operations group, the same for every API that has it. */
export const systemHandlers = Effect.gen(function* () {
  const probe = yield* ReadinessProbe
  yield* measure(Effect.flatMap(probe.report, ({ status }) => Metric.update(readiness, status === "ready" ? 1 : 0)))
  return {
    health: () => Effect.succeed({ status: "ok" as const, software: SOFTWARE }),
    ready: () =>
      Effect.map(probe.report, (report) =>
        HttpServerResponse.jsonUnsafe(report, {
          status: report.status === "ready" ? 200 : 503,
          headers: { "cache-control": "no-store" },
        }),
      ),
    metrics: () => Effect.andThen(measureAll, PrometheusMetrics.format()),
  }
})
