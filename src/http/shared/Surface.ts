/** What both servers serve in the same way: their API with its description, operations, pages. */
import { Context, Effect, Layer, Metric } from "effect"
import { HttpServerResponse } from "effect/http"
import { type HttpApi, HttpApiBuilder, type HttpApiGroup } from "effect/http-api"
import { PrometheusMetrics } from "effect/observability"
import { isLoopback } from "../../domain/hostName.ts"
import { SOFTWARE } from "../../domain/software.ts"
import { measure, measureAll } from "../../services/lifecycle/Measurements.ts"
import { ReadinessProbe } from "../../services/lifecycle/ReadinessProbe.ts"
import { gauge } from "../../services/metrics.ts"
import { type Asset, layerAssets } from "./Assets.ts"
import type { KindOf, RequestKind } from "./ClientLimits.ts"
import type { ProblemCodes } from "../../api/problems.ts"
import { descriptionOf } from "./Description.ts"
import { hostRules, type HostSettings } from "./Hosts.ts"
import { layerOutermost, type OutermostSettings } from "./Outermost.ts"
import { layerPage, type Page, pageRoutes } from "./Pages.ts"
import { type Endpoints, makeRouteTable } from "./RouteTable.ts"
import { IsProbe, type SystemApi } from "../../api/SystemApi.ts"

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
      yield* measure(
        Effect.flatMap(probe.report, ({ status }) => Metric.update(readiness, status === "unavailable" ? 0 : 1)),
      )
      return handlers.handleAll({
        health: () => Effect.succeed({ status: "ok" as const, software: SOFTWARE }),
        ready: () =>
          Effect.map(probe.report, (report) =>
            HttpServerResponse.jsonUnsafe(report, {
              status: report.status === "unavailable" ? 503 : 200,
              headers: { "cache-control": "no-store" },
            }),
          ),
        metrics: () => Effect.andThen(measureAll, PrometheusMetrics.format()),
      })
    }),
  )

/** Probes are counted apart, so that nothing else that comes from a balancer's address can keep it from asking. */
const withProbes = (kindOf: KindOf, perMinute: number): KindOf => {
  const probes: RequestKind = { name: "probes", perMinute, inFlight: 0, ofProcess: true }
  return (method, route) =>
    route !== undefined && Context.get(route.annotations, IsProbe) ? probes : kindOf(method, route)
}

export interface SurfaceOptions extends Pick<
  OutermostSettings,
  "jsonLimits" | "kindOf" | "malformedCode" | "namesRequest"
> {
  readonly component: "proxy" | "gateway"
  readonly problemCodes: ProblemCodes
  readonly settings: Pick<OutermostSettings, "maxBodyMemory" | "trustedProxies"> &
    HostSettings & {
      readonly maxRequestBytes: number
      readonly rateLimitProbes: number
      readonly console: boolean
      readonly allowedOrigins: ReadonlyArray<string>
    }
}

/** Whoever listens beyond this machine answers under any name, as long as it has not been told its own. */
const sayWhoIsServed = ({ allowedHosts, host }: HostSettings) =>
  Layer.effectDiscard(
    allowedHosts === undefined && !isLoopback(host)
      ? Effect.logInfo("requests are served under any host name; set ALLOWED_HOSTS to those that this server has")
      : Effect.void,
  )

/** All routes of a server, behind what every request passes first; it needs the handlers of `api`. */
export const layerSurface = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups> & Endpoints,
  { component, jsonLimits, kindOf, malformedCode, namesRequest, problemCodes, settings }: SurfaceOptions,
) => {
  const pages: ReadonlyArray<Page> = [
    { path: "/docs", folder: "reference" },
    ...(settings.console ? [{ path: "/console", folder: component } as const] : []),
  ]
  const description: Asset = {
    path: "/openapi.json",
    contentType: "application/json",
    content: Effect.sync(() => JSON.stringify(descriptionOf(api, problemCodes))),
  }
  const beside = [["GET", description.path], ...pages.flatMap(pageRoutes)] as const
  return Layer.mergeAll(
    HttpApiBuilder.layer(api),
    layerAssets([description]),
    ...pages.map(layerPage),
    sayWhoIsServed(settings),
    layerOutermost({
      routes: makeRouteTable(api, beside),
      maxBodyBytes: settings.maxRequestBytes,
      maxBodyMemory: settings.maxBodyMemory,
      trustedProxies: settings.trustedProxies,
      jsonLimits,
      hosts: hostRules(settings),
      origins: new Set(settings.allowedOrigins),
      kindOf: withProbes(kindOf, settings.rateLimitProbes),
      malformedCode,
      namesRequest,
    }),
  )
}
