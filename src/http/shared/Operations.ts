/** Health, readiness and metrics: a short public report, and the whole one on the operator's listener. */
import { Effect, Layer, Metric, Redacted } from "effect"
import { type HttpServerRequest, HttpRouter, HttpServerResponse } from "effect/http"
import { type HttpApi, type HttpApiGroup } from "effect/http-api"
import { PrometheusMetrics } from "effect/observability"
import { Malformed } from "../../api/problems.ts"
import type { SystemApi } from "../../api/SystemApi.ts"
import { isLoopback } from "../../domain/access/hostName.ts"
import { JSON_LIMITS } from "../../domain/json/iJson.ts"
import { publicReadiness, type Readiness } from "../../domain/operations/readiness.ts"
import { SOFTWARE } from "../../domain/operations/software.ts"
import { bearerIn } from "../../services/access/bearer.ts"
import { sameSecret } from "../../services/access/sameSecret.ts"
import { measure, measureAll } from "../../services/lifecycle/MeasuredGauges.ts"
import { ReadinessProbe } from "../../services/lifecycle/ReadinessProbe.ts"
import { gauge } from "../../services/metrics.ts"
import type { RequestKind } from "./ClientLimits.ts"
import { hostRules, type HostSettings } from "./Hosts.ts"
import { layerEdge, type EdgeSettings } from "./Edge.ts"
import { makeRouteTable } from "./RouteTable.ts"
import { layerHandlers } from "./layerHandlers.ts"

const readiness = gauge("sealgate_ready")()

const HEALTH = { status: "ok" as const, software: SOFTWARE }

const readyResponse = ({ status }: Pick<Readiness, "status">, body: object) =>
  HttpServerResponse.jsonUnsafe(body, {
    status: status === "unavailable" ? 503 : 200,
    headers: { "cache-control": "no-store" },
  })

const metricsResponse = Effect.map(Effect.andThen(measureAll, PrometheusMetrics.format()), (text) =>
  HttpServerResponse.text(text, { contentType: "text/plain; version=0.0.4; charset=utf-8" }),
)

export const layerSystem = <Id extends string, Others extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Others | typeof SystemApi>,
) =>
  layerHandlers(
    // The API has this group; the cast hides the others, which these handlers' types cannot express.
    api as unknown as HttpApi.HttpApi<Id, typeof SystemApi>,
    "system",
    Effect.fn(function* (handlers) {
      const probe = yield* ReadinessProbe
      yield* measure(
        Effect.flatMap(probe.report, ({ status }) => Metric.update(readiness, status === "unavailable" ? 0 : 1)),
      )
      return handlers.handleAll({
        health: () => Effect.succeed(HEALTH),
        ready: () => Effect.map(probe.report, (report) => readyResponse(report, publicReadiness(report))),
      })
    }),
  )

const carries = ({ headers }: HttpServerRequest.HttpServerRequest, token: Redacted.Redacted): boolean =>
  sameSecret(bearerIn(headers["authorization"] ?? "") ?? "", Redacted.value(token))

/** Serves `/metrics` to requests with the operator's token; others get 404. */
export const layerScrape = (token: Redacted.Redacted | undefined) =>
  token === undefined
    ? Layer.empty
    : HttpRouter.add("GET", "/metrics", (request) =>
        carries(request, token) ? metricsResponse : Effect.succeed(HttpServerResponse.empty({ status: 404 })),
      )

const PATHS = ["/health", "/ready", "/metrics"] as const

/** Requests to this listener need no body. */
const MAX_BODY_BYTES = 1024

export interface OperatorRoutesSettings extends Pick<EdgeSettings, "trustedProxies">, HostSettings {
  readonly rateLimitProbes: number
}

/** No web page may read these, not even of an allowed origin. Requests have the limit of probes, but count separately. */
export const layerOperatorRoutes = ({
  allowedHosts,
  host,
  rateLimitProbes,
  trustedProxies,
}: OperatorRoutesSettings) => {
  // The public names of the server are not valid on its operator's loopback listener.
  const hosts = hostRules({ host, allowedHosts: isLoopback(host) ? undefined : allowedHosts })
  const kind: RequestKind = { name: "operator", perMinute: rateLimitProbes, ofProcess: true }
  return Layer.unwrap(
    Effect.map(ReadinessProbe, (probe) =>
      Layer.mergeAll(
        HttpRouter.add("GET", "/health", HttpServerResponse.jsonUnsafe(HEALTH)),
        HttpRouter.add(
          "GET",
          "/ready",
          Effect.map(probe.report, (report) => readyResponse(report, report)),
        ),
        HttpRouter.add("GET", "/metrics", metricsResponse),
        layerEdge({
          routes: makeRouteTable(
            { groups: {} },
            PATHS.map((path) => ["GET", path]),
          ),
          maxBodyBytes: MAX_BODY_BYTES,
          maxBodyMemory: MAX_BODY_BYTES,
          trustedProxies,
          jsonLimits: JSON_LIMITS,
          hosts,
          origins: new Set(),
          continuesTraces: false,
          seeInstead: `See ${PATHS.join(", ")}.`,
          kindOf: () => kind,
          malformed: (why) => new Malformed(why),
          namesRequest: false,
        }),
      ),
    ),
  )
}
