/** Counts and times requests, and writes one log line for each: method, route, status, duration, nothing of a body. */
import { Clock, Effect, Exit, Metric } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import { counter, histogram } from "../../services/metrics.ts"
import type { RouteTable } from "./RouteTable.ts"

const requests = counter("sealgate_http_requests_total")
const durations = histogram("sealgate_http_request_duration_seconds")

/** Observes `app`, the whole handling of `request` up to its response. */
export const observe =
  (routes: Pick<RouteTable, "label">) =>
  <E, R>(
    request: HttpServerRequest.HttpServerRequest,
    app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  ): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R> =>
    Effect.flatMap(Clock.currentTimeMillis, (started) =>
      Effect.onExit(app, (exit) =>
        Effect.flatMap(Clock.currentTimeMillis, (finished) => {
          const route = routes.label(request.method, request.url)
          const method = route === "unknown" ? "any" : request.method
          const status = Exit.isSuccess(exit) ? String(exit.value.status) : "aborted"
          return Effect.all(
            [
              Metric.update(requests({ method, route, status }), 1),
              Metric.update(durations({ method, route }), (finished - started) / 1000),
              Effect.logDebug("request").pipe(
                Effect.annotateLogs({ method, route, status, milliseconds: finished - started }),
              ),
            ],
            { discard: true },
          )
        }),
      ),
    )
