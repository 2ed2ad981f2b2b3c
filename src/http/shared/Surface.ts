/** What both servers serve in the same way: their API with its description, operations, the console. */
import { Effect, Layer, Metric } from "effect"
import { HttpServerResponse } from "effect/http"
import { type HttpApi, HttpApiBuilder, type HttpApiGroup, HttpApiScalar } from "effect/http-api"
import { PrometheusMetrics } from "effect/observability"
import { SOFTWARE } from "../../domain/software.ts"
import { measure, measureAll } from "../../services/lifecycle/Measurements.ts"
import { ReadinessProbe } from "../../services/lifecycle/ReadinessProbe.ts"
import { gauge } from "../../services/metrics.ts"
import { CONSOLE_ROUTES, layerConsole } from "./Console.ts"
import { layerOutermost, type OutermostSettings } from "./Outermost.ts"
import { type Endpoints, makeRouteTable } from "./RouteTable.ts"
import type { SystemApi } from "./SystemApi.ts"

const readiness = gauge("sealgate_ready")()

/** Handlers of the operations group of `api`. */
export const layerSystem = <Id extends string, Others extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Others | typeof SystemApi>,
) =>
  HttpApiBuilder.group(
    // It has this group; that it may have others is nothing to these handlers, but too much for their types.
    api as unknown as HttpApi.HttpApi<Id, typeof SystemApi>,
    "system",
    Effect.fn(function* (handlers) {
      const probe = yield* ReadinessProbe
      yield* measure(Effect.flatMap(probe.report, ({ status }) => Metric.update(readiness, status === "ready" ? 1 : 0)))
      return handlers.handleAll({
        health: () => Effect.succeed({ status: "ok" as const, software: SOFTWARE }),
        ready: () =>
          Effect.map(probe.report, (report) =>
            HttpServerResponse.jsonUnsafe(report, {
              status: report.status === "ready" ? 200 : 503,
              headers: { "cache-control": "no-store" },
            }),
          ),
        metrics: () => Effect.andThen(measureAll, PrometheusMetrics.format()),
      })
    }),
  )

const OPENAPI = "/openapi.json"
const REFERENCE = "/docs"

export interface SurfaceOptions extends Pick<OutermostSettings, "malformedCode" | "namesRequest"> {
  readonly component: "proxy" | "gateway"
  readonly settings: Pick<OutermostSettings, "maxBodyMemory" | "trustedProxies"> & {
    readonly maxRequestBytes: number
    readonly console: boolean
  }
}

/** All routes of a server, behind what every request passes first; it needs the handlers of `api`. */
export const layerSurface = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups> & Endpoints,
  { component, malformedCode, namesRequest, settings }: SurfaceOptions,
) => {
  const beside = [["GET", OPENAPI], ["GET", REFERENCE], ...(settings.console ? CONSOLE_ROUTES : [])] as const
  return Layer.mergeAll(
    HttpApiBuilder.layer(api, { openapiPath: OPENAPI }),
    HttpApiScalar.layer(api, { path: REFERENCE, scalar: { withDefaultFonts: false } }),
    settings.console ? layerConsole(component) : Layer.empty,
    layerOutermost({
      routes: makeRouteTable(api, beside),
      maxBodyBytes: settings.maxRequestBytes,
      maxBodyMemory: settings.maxBodyMemory,
      trustedProxies: settings.trustedProxies,
      malformedCode,
      namesRequest,
    }),
  )
}
