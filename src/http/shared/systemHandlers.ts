import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import { SOFTWARE } from "../../domain/software.ts"
import { ReadinessProbe } from "../../services/lifecycle/ReadinessProbe.ts"
import { RuntimeMetrics } from "../../services/lifecycle/RuntimeMetrics.ts"

/** Handlers of the operations group, the same for every API that has it. */
export const systemHandlers = Effect.gen(function* () {
  const probe = yield* ReadinessProbe
  const runtime = yield* RuntimeMetrics
  return {
    health: () => Effect.succeed({ status: "ok" as const, software: SOFTWARE }),
    ready: () =>
      Effect.map(probe.report, (report) =>
        HttpServerResponse.jsonUnsafe(report, {
          status: report.status === "ready" ? 200 : 503,
          headers: { "cache-control": "no-store" },
        }),
      ),
    metrics: () => Effect.andThen(runtime.refresh, PrometheusMetrics.format()),
  }
})
