/** What every request of both servers passes first: addresses, a span, observation, problem documents, body limits. */
import { ByteSize, Effect } from "effect"
import { HttpIncomingMessage, HttpMiddleware, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { IpNetwork } from "effect/net"
import { makeBodyMemory } from "./BodyMemory.ts"
import { observe } from "./HttpMetrics.ts"
import { withBodyLimits } from "./JsonBody.ts"
import { type RenderOptions, renderProblems } from "./Problems.ts"
import { withRequestSpan } from "./requestSpan.ts"

export interface OutermostSettings extends RenderOptions {
  /** Networks whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: ReadonlyArray<IpNetwork.IpNetwork>
  /** Bytes of all bodies together that are on their way in. */
  readonly maxBodyMemory: number
}

/** Status of a request that is refused by its head alone. */
const refusedUnread = (
  { headers, source }: HttpServerRequest.HttpServerRequest,
  maxBodyBytes: number,
): 400 | 413 | undefined => {
  // A body that announces itself as too large; others are cut off where the limit is.
  if (Number(headers["content-length"] ?? 0) > maxBodyBytes) return 413
  // RFC 9112 §3.2 demands it of HTTP/1.1. The server itself would refuse such a request without saying why.
  const hostless = headers["host"] === undefined && "httpVersion" in source && source.httpVersion === "1.1"
  return hostless ? 400 : undefined
}

export const layerOutermost = (settings: OutermostSettings) => {
  const forwarded = HttpMiddleware.xForwardedHeaders({ trustedProxies: settings.trustedProxies })
  const render = renderProblems(settings)
  const observed = observe(settings.routes)
  const spanned = withRequestSpan(settings.routes)
  const hold = makeBodyMemory(settings.maxBodyMemory)
  const maxBody = ByteSize.bytes(settings.maxBodyBytes)
  return HttpRouter.middleware(
    (app) =>
      forwarded(
        Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
          const refused = refusedUnread(request, settings.maxBodyBytes)
          const limited =
            refused === undefined
              ? app.pipe(
                  Effect.provideService(
                    HttpServerRequest.HttpServerRequest,
                    withBodyLimits(request, settings.maxBodyBytes, hold),
                  ),
                  Effect.provideService(HttpIncomingMessage.MaxBodySize, maxBody),
                )
              : Effect.succeed(HttpServerResponse.empty({ status: refused }))
          return spanned(request, observed(request, render(request, limited)))
        }),
      ),
    { global: true },
  )
}
