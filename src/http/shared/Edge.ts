/** Middleware for every request to either server. It refuses requests before their body is read. */
import { Context, Effect, type Scope } from "effect"
import { HttpMiddleware, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { IpNetwork } from "effect/net"
import { MaxBodyBytes } from "../../api/MaxBodyBytes.ts"
import { NeedsLength } from "../../api/NeedsLength.ts"
import { LengthRequired } from "../../api/problems.ts"
import type { JsonLimits } from "../../domain/json/iJson.ts"
import { makeBodyMemory } from "./BodyMemory.ts"
import { CountedPolicies, type KindOf, makeCountRequest } from "./ClientLimits.ts"
import { type HostRules, hostRefusal } from "./Hosts.ts"
import { observed } from "./HttpMetrics.ts"
import { BodyLimit, limitBody } from "./JsonBody.ts"
import { originRefusal, sharedWith } from "./Origins.ts"
import {
  CurrentErrorForm,
  type ErrorForm,
  NamesRequest,
  type RenderOptions,
  renderProblems,
  respond,
} from "./renderProblems.ts"
import { PolicyStates } from "./rateLimitFields.ts"
import { withRequestSpan } from "./requestSpan.ts"
import { type MatchedRoute, pathOf, type RouteTable, UNKNOWN_ROUTE } from "./RouteTable.ts"

export interface EdgeSettings extends Omit<RenderOptions, "maxBodyBytes"> {
  readonly routes: RouteTable
  /** Whether problems name their request. */
  readonly namesRequest: boolean
  /** The form of errors at a path, if it is not a problem document. */
  readonly errorForm?: ((path: string) => ErrorForm | undefined) | undefined
  /** Networks whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: ReadonlyArray<IpNetwork.IpNetwork>
  /** Largest body in bytes, unless an endpoint sets a lower limit. */
  readonly maxBodyBytes: number
  /** Memory limit of all bodies being received, in bytes. */
  readonly maxBodyMemory: number
  readonly jsonLimits: JsonLimits
  readonly hosts: HostRules
  /** Other origins whose pages may use the server. */
  readonly origins: ReadonlySet<string>
  /** Whether a request continues its caller's trace; otherwise the server begins a new one. */
  readonly continuesTraces: boolean
  /** How requests are counted. */
  readonly kindOf: KindOf
}

/** Whether `Content-Length` is above the limit. Bodies without it are cut off at the limit. */
const announcesTooMuch = ({ headers }: HttpServerRequest.HttpServerRequest, maxBodyBytes: number): boolean =>
  Number(headers["content-length"] ?? 0) > maxBodyBytes

/** Whether the body is chunked and the endpoint requires `Content-Length`. */
const lacksLength = ({ headers }: HttpServerRequest.HttpServerRequest, route: MatchedRoute | undefined): boolean =>
  headers["transfer-encoding"] !== undefined && route !== undefined && Context.get(route.annotations, NeedsLength)

const TOO_MUCH = HttpServerResponse.empty({ status: 413 })

/** Remedy for a page of another origin. */
const MAY_BE_ALLOWED = "To allow it, the operator adds the page's origin to ALLOWED_ORIGINS."

/** `undefined` without trusted proxies, as on most servers. */
const addressesOf = (trustedProxies: ReadonlyArray<IpNetwork.IpNetwork>) =>
  trustedProxies.length === 0 ? undefined : HttpMiddleware.xForwardedHeaders({ trustedProxies })

export const layerEdge = (settings: EdgeSettings) => {
  const { hosts, jsonLimits, kindOf, origins, routes } = settings
  const maxBytesOf = (route: MatchedRoute | undefined) =>
    Math.min(settings.maxBodyBytes, route === undefined ? Infinity : Context.get(route.annotations, MaxBodyBytes))
  const shared = sharedWith(origins)
  const forwarded = addressesOf(settings.trustedProxies)
  const render = renderProblems({
    ...settings,
    maxBodyBytes: ({ method, url }) => maxBytesOf(routes.find(method, url)),
  })
  const spanned = withRequestSpan(settings.continuesTraces)
  const hold = makeBodyMemory(settings.maxBodyMemory)
  const answering = <A, E, R>(url: string, states: PolicyStates, app: Effect.Effect<A, E, R>) =>
    Effect.updateContext(app, (context: Context.Context<R>) => {
      const form = settings.errorForm?.(pathOf(url))
      const named = settings.namesRequest ? Context.add(context, NamesRequest, true) : context
      const formed = form === undefined ? named : Context.add(named, CurrentErrorForm, form)
      return Context.add(formed, CountedPolicies, states)
    })
  return HttpRouter.middleware(
    Effect.map(makeCountRequest, (countRequest) => {
      /** Counts a request, checks its body's length, and runs `app`. */
      const handle = <E, R>(
        request: HttpServerRequest.HttpServerRequest,
        route: MatchedRoute | undefined,
        app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
      ): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R | Scope.Scope> =>
        Effect.matchEffect(countRequest(request, kindOf(request.method, route)), {
          onFailure: (refusal) => respond(request, refusal),
          onSuccess: () => {
            if (lacksLength(request, route)) return respond(request, new LengthRequired())
            const maxBodyBytes = maxBytesOf(route)
            if (announcesTooMuch(request, maxBodyBytes)) return Effect.succeed(TOO_MUCH)
            limitBody(request, { maxBodyBytes, jsonLimits, hold })
            return Effect.provideService(app, BodyLimit, maxBodyBytes)
          },
        })
      return (app) =>
        Effect.flatMap(HttpServerRequest.HttpServerRequest, (asItCame) => {
          const handled = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
            const refusal =
              hostRefusal(asItCame, hosts, "ALLOWED_HOSTS") ?? originRefusal(request, origins, MAY_BE_ALLOWED)
            const route = routes.find(request.method, request.url)
            const label = route?.path ?? UNKNOWN_ROUTE
            const states = new PolicyStates()
            const answer =
              refusal === undefined
                ? shared(request)(render(request, handle(request, route, app))).pipe(
                    Effect.map((response) => HttpServerResponse.setHeaders(response, states.fields)),
                  )
                : respond(request, refusal)
            return answering(request.url, states, spanned(request, label, observed(request, label, answer)))
          })
          return forwarded === undefined ? handled : forwarded(handled)
        })
    }),
    { global: true },
  )
}
