import { Clock, Effect, Exit, Layer, Option, Tracer } from "effect"
import { HttpMiddleware, HttpServerError, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { callerSpan } from "../../domain/operations/traceContext.ts"
import { pathOf, UNKNOWN_ROUTE } from "./RouteTable.ts"

/**
 * Turns off the framework's request spans, which {@link withRequestSpan} replaces: they do not support `tracestate` or
 * later versions of `traceparent`, and there are none when spans are not exported.
 */
export const layerOwnSpans = Layer.succeed(HttpMiddleware.TracerDisabledWhen, () => true)

/**
 * The attributes that OpenTelemetry's HTTP conventions ask for, without queries and unknown paths, because strangers
 * wrote those.
 */
const attributesOf = (
  request: HttpServerRequest.HttpServerRequest,
  route: string,
): Readonly<Record<string, unknown>> => {
  const url = Option.getOrUndefined(HttpServerRequest.toURL(request))
  const attributes = {
    "http.request.method": request.method,
    ...(route === UNKNOWN_ROUTE ? {} : { "http.route": route, "url.path": pathOf(request.url) }),
    "url.scheme": url?.protocol.slice(0, -1),
    // In this attribute an IPv6 address has no brackets.
    "server.address": url?.hostname.replace(/^\[|\]$/g, ""),
    "server.port": url === undefined ? undefined : Number(url.port || (url.protocol === "https:" ? 443 : 80)),
    "user_agent.original": request.headers["user-agent"],
    "client.address": Option.getOrUndefined(request.remoteAddress),
  }
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined))
}

/** By the conventions a span failed if the server was at fault. */
const spanExit = (
  request: HttpServerRequest.HttpServerRequest,
  exit: Exit.Exit<HttpServerResponse.HttpServerResponse, unknown>,
): Exit.Exit<unknown, unknown> =>
  Exit.isSuccess(exit) && exit.value.status >= 500
    ? Exit.fail(
        new HttpServerError.HttpServerError({
          reason: new HttpServerError.ResponseError({ request, response: exit.value }),
        }),
      )
    : exit

/**
 * Handles a request within a span. The span continues the caller's trace if the server `continues` traces; otherwise it
 * begins a new one. It exists even when spans are not exported, because problems and jobs name its trace, and providers
 * may be told the caller's. It ends with the head of the response.
 */
export const withRequestSpan =
  (continues: boolean) =>
  <E, R>(
    request: HttpServerRequest.HttpServerRequest,
    route: string,
    app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  ): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R> =>
    Effect.withFiber((fiber) => {
      const isExported = fiber.getRef(Tracer.Tracer) !== Tracer.nativeTracer
      const made = Effect.makeSpan(`${request.method} ${route}`, {
        kind: "server",
        ...(continues
          ? { parent: callerSpan(request.headers["traceparent"], request.headers["tracestate"]) }
          : { root: true }),
        attributes: isExported ? attributesOf(request, route) : {},
      })
      return Effect.flatMap(made, (span) => {
        // The span is the only thing added to the context of `app`, so its requirements stay the same.
        const within = Effect.provideService(app, Tracer.ParentSpan, span) as typeof app
        // Nobody reads a span that is not exported: its trace is all that is known of it.
        if (!isExported) return within
        return Effect.onExitPrimitive(within, (exit) => {
          if (Exit.isSuccess(exit)) span.attribute("http.response.status_code", exit.value.status)
          span.end(fiber.getRef(Clock.Clock).currentTimeNanosUnsafe(), spanExit(request, exit))
          return undefined
        })
      })
    })
