/** What every request of both servers passes first: forwarded addresses, body limit, observation, problem documents. */
import { ByteSize, Effect, Layer } from "effect"
import { HttpIncomingMessage, HttpMiddleware, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { IpNetwork } from "effect/net"
import { observe } from "./HttpMetrics.ts"
import { type RenderOptions, renderProblems } from "./Problems.ts"
import { withRequestSpan } from "./requestSpan.ts"
import type { RouteTable } from "./RouteTable.ts"

export interface OutermostSettings extends RenderOptions {
  /** Networks whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: ReadonlyArray<IpNetwork.IpNetwork>
}

/** Names server spans by method and route, as OpenTelemetry's HTTP conventions ask. */
export const layerSpanNames = (routes: RouteTable) =>
  Layer.succeed(
    HttpMiddleware.SpanNameGenerator,
    (request) => `${request.method} ${routes.label(request.method, request.url)}`,
  )

export const layerOutermost = (settings: OutermostSettings) => {
  const forwarded = HttpMiddleware.xForwardedHeaders({ trustedProxies: settings.trustedProxies })
  const render = renderProblems(settings)
  const observed = observe(settings.routes)
  const maxBody = ByteSize.bytes(settings.maxBodyBytes)
  return HttpRouter.middleware(
    (app) =>
      forwarded(
        Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
          // A body that announces itself as too large is refused unread; others are cut off where the limit is.
          const announced = Number(request.headers["content-length"] ?? 0)
          const limited =
            announced > settings.maxBodyBytes ? Effect.succeed(HttpServerResponse.empty({ status: 413 })) : app
          const rendered = render(request, Effect.provideService(limited, HttpIncomingMessage.MaxBodySize, maxBody))
          return observed(request, settings.namesRequest === true ? withRequestSpan(request, rendered) : rendered)
        }),
      ),
    { global: true },
  )
}
