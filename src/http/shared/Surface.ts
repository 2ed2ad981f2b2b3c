/** The routes common to both servers: the API, its description, and pages. */
import { Context, Effect, Layer, type Redacted } from "effect"
import { HttpRouter, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { type HttpApi, HttpApiBuilder, type HttpApiGroup } from "effect/http-api"
import { isLoopback } from "../../domain/access/hostName.ts"
import { SOFTWARE } from "../../domain/operations/software.ts"
import { type Asset, layerAssets } from "./Assets.ts"
import type { KindOf, RequestKind } from "./ClientLimits.ts"
import { descriptionOf } from "./description/describe.ts"
import type { Examples } from "./description/showExample.ts"
import { hostRules, type HostSettings } from "./Hosts.ts"
import { layerScrape } from "./Operations.ts"
import { layerEdge, type EdgeSettings } from "./Edge.ts"
import { layerPage, pageRoutes, type WebPage } from "./Pages.ts"
import { type Endpoints, makeRouteTable } from "./RouteTable.ts"
import { IsProbe } from "../../api/SystemApi.ts"

/** Gives probes a rate limit of their own, so that other requests from a load balancer's address cannot use it up. */
const withProbes = (kindOf: KindOf, perMinute: number): KindOf => {
  const probes: RequestKind = { name: "probes", perMinute, ofProcess: true }
  return (method, route) =>
    route !== undefined && Context.get(route.annotations, IsProbe) ? probes : kindOf(method, route)
}

interface SurfaceOptions extends Pick<
  EdgeSettings,
  "continuesTraces" | "errorForm" | "insteadOf" | "jsonLimits" | "kindOf" | "malformed" | "namesRequest"
> {
  readonly component: "proxy" | "gateway"
  /** Examples for `/openapi.json`, by operation id. */
  readonly examples: Readonly<Record<string, Examples>>
  readonly settings: Pick<EdgeSettings, "maxBodyMemory" | "trustedProxies"> &
    HostSettings & {
      readonly maxRequestBytes: number
      readonly rateLimitProbes: number
      readonly operatorToken: Redacted.Redacted | undefined
      readonly console: boolean
      readonly allowedOrigins: ReadonlyArray<string>
    }
}

const DOCUMENTS = ["openapi.json", "health", "ready"]

const wantsPage = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  headers["accept"]?.includes("text/html") === true

/**
 * Redirects browsers to the console, and sends a list of addresses to programs. Addresses are relative, so they work
 * below any prefix.
 */
const layerEntrance = (component: SurfaceOptions["component"], pages: ReadonlyArray<string>) => {
  const [first] = pages
  const list = HttpServerResponse.jsonUnsafe({ software: SOFTWARE, component, pages, documents: DOCUMENTS })
  return HttpRouter.add("GET", "/", (request) =>
    Effect.succeed(
      first !== undefined && wantsPage(request)
        ? HttpServerResponse.redirect(first, { status: 302, headers: { vary: "accept" } })
        : HttpServerResponse.setHeader(list, "vary", "accept"),
    ),
  )
}

/** Logs that a server beyond loopback accepts any host name until `ALLOWED_HOSTS` is set. */
const logOpenHosts = ({ allowedHosts, host }: HostSettings) =>
  Layer.effectDiscard(
    allowedHosts === undefined && !isLoopback(host)
      ? Effect.logInfo("requests are served under any host name; set ALLOWED_HOSTS to those that this server has")
      : Effect.void,
  )

/** All routes of a server, behind the checks that apply to every request. Requires the handlers of `api`. */
export const layerSurface = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups> & Endpoints,
  { component, continuesTraces, jsonLimits, kindOf, malformed, namesRequest, settings, ...rest }: SurfaceOptions,
) => {
  const pages: ReadonlyArray<WebPage> = [
    { path: "/docs", folder: "reference", policy: "swagger" },
    ...(settings.console ? [{ path: "/console", folder: component } as const] : []),
  ]
  const description: Asset = {
    path: "/openapi.json",
    contentType: "application/json",
    content: Effect.sync(() => JSON.stringify(descriptionOf(api, rest.examples))),
  }
  const beside = [["GET", "/"], ["GET", description.path], ...pages.flatMap(pageRoutes)] as const
  return Layer.mergeAll(
    HttpApiBuilder.layer(api),
    layerAssets([description]),
    layerEntrance(component, pages.map(({ path }) => path.slice(1)).toReversed()),
    ...pages.map(layerPage),
    layerScrape(settings.operatorToken),
    logOpenHosts(settings),
    layerEdge({
      routes: makeRouteTable(api, beside),
      maxBodyBytes: settings.maxRequestBytes,
      maxBodyMemory: settings.maxBodyMemory,
      trustedProxies: settings.trustedProxies,
      jsonLimits,
      continuesTraces,
      seeInstead: `See ${description.path}.`,
      hosts: hostRules(settings),
      origins: new Set(settings.allowedOrigins),
      kindOf: withProbes(kindOf, settings.rateLimitProbes),
      malformed,
      namesRequest,
      ...rest,
    }),
  )
}
