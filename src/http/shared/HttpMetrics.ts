/** Counts and times requests, and logs method, route, status and duration of each. */
import { Clock, Effect, Exit, LogLevel, References } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import { counter, histogram } from "../../services/metrics.ts"
import { momentOf } from "../../services/moments.ts"
import { UNKNOWN_ROUTE } from "./RouteTable.ts"

const requests = counter("sealgate_http_requests_total")
const durations = histogram("sealgate_http_request_duration_seconds")

export const observed = <E, R>(
  request: HttpServerRequest.HttpServerRequest,
  route: string,
  app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R> =>
  Effect.withFiber((fiber) => {
    const { context } = fiber
    const clock = fiber.getRef(Clock.Clock)
    const started = momentOf(clock)
    return Effect.onExitPrimitive(app, (exit) => {
      const milliseconds = Math.round(momentOf(clock) - started)
      const method = route === UNKNOWN_ROUTE ? "any" : request.method
      const status = Exit.isSuccess(exit) ? String(exit.value.status) : "aborted"
      requests({ method, route, status }).updateUnsafe(1, context)
      durations({ method, route }).updateUnsafe(milliseconds / 1000, context)
      return LogLevel.isGreaterThan(fiber.getRef(References.MinimumLogLevel), "Debug")
        ? undefined
        : Effect.annotateLogs(Effect.logDebug("request"), { method, route, status, milliseconds })
    })
  })
