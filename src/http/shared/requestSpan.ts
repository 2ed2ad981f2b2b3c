import { Clock, Effect, Exit, Layer, Option, Tracer } from "effect"
import { HttpMiddleware, HttpServerError, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { callerSpan } from "../../domain/operations/traceContext.ts"
import { pathOf, UNKNOWN_ROUTE } from "./RouteTable.ts"

/** Turns off the framework's spans, which lack `tracestate` and exist only if they are exported. */
export const layerOwnSpans = Layer.succeed(HttpMiddleware.TracerDisabledWhen, () => true)

/** Attributes of OpenTelemetry's HTTP conventions, without queries and unknown paths, which any stranger can choose. */
const attributesOf = (
  request: HttpServerRequest.HttpServerRequest,
  route: string,
): Readonly<Record<string, unknown>> => {
  const url = Option.getOrUndefined(HttpServerRequest.toURL(request))
  const attributes = {
    "http.request.method": request.method,
    ...(route === UNKNOWN_ROUTE ? {} : { "http.route": route, "url.path": pathOf(request.url) }),
    "url.scheme": url?.protocol.slice(0, -1),
    // The conventions write IPv6 addresses without brackets.
    "server.address": url?.hostname.replace(/^\[|\]$/g, ""),
    "server.port": url === undefined ? undefined : Number(url.port || (url.protocol === "https:" ? 443 : 80)),
    "user_agent.original": request.headers["user-agent"],
    "client.address": Option.getOrUndefined(request.remoteAddress),
  }
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined))
}

/** By the conventions, a span fails if the status is 5xx. */
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

/** Continues the caller's trace if `continues`. The span exists even if none are exported: problems and jobs name it. */
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
        // Only the span is added, so the requirements of `app` stay the same.
        const within = Effect.provideService(app, Tracer.ParentSpan, span) as typeof app
        // If the span is not exported, only its trace id is used.
        if (!isExported) return within
        return Effect.onExitPrimitive(within, (exit) => {
          if (Exit.isSuccess(exit)) span.attribute("http.response.status_code", exit.value.status)
          span.end(fiber.getRef(Clock.Clock).currentTimeNanosUnsafe(), spanExit(request, exit))
          return undefined
        })
      })
    })
