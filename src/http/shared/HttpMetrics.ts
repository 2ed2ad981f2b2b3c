/** Counts and times requests, and writes one log line for each: method, route, status, duration, nothing of a body. */
import { Clock, Effect, Exit, Metric } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import type { RouteTable } from "./RouteTable.ts"

const requests = Metric.counter("sealgate_http_requests_total", {
  description: "HTTP requests answered, by route and status; aborted means that the caller went away",
  incremental: true,
})

/** Bucket bounds in seconds: from a local call to the longest a provider may take. */
const BOUNDARIES = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600]

const durations = Metric.histogram("sealgate_http_request_duration_seconds", {
  description: "Time from a request to the headers of its answer",
  boundaries: BOUNDARIES,
})

/** Observes `app`, the whole handling of `request` up to its response. */
export const observe =
  (routes: RouteTable) =>
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
              Metric.update(Metric.withAttributes(requests, { method, route, status }), 1),
              Metric.update(Metric.withAttributes(durations, { method, route }), (finished - started) / 1000),
              Effect.logDebug("request").pipe(
                Effect.annotateLogs({ method, route, status, milliseconds: finished - started }),
              ),
            ],
            { discard: true },
          )
        }),
      ),
    )
