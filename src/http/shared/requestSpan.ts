import { Clock, Effect, Exit, Layer, Option } from "effect"
import { HttpMiddleware, HttpServerError, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { callerSpan } from "../../domain/traceContext.ts"
import { pathOf, type RouteTable } from "./RouteTable.ts"

/**
 * Turns off the framework's spans of requests, in whose place {@link withRequestSpan} is: they know neither `tracestate`
 * nor later versions of `traceparent`, and there are none where spans go nowhere.
 */
export const layerOwnSpans = Layer.succeed(HttpMiddleware.TracerDisabledWhen, () => true)

/** What OpenTelemetry's HTTP conventions ask for, but for queries, and paths that no route takes: strangers wrote those. */
const attributesOf = (
  request: HttpServerRequest.HttpServerRequest,
  route: string,
): Readonly<Record<string, unknown>> => {
  const url = Option.getOrUndefined(HttpServerRequest.toURL(request))
  const attributes = {
    "http.request.method": request.method,
    ...(route === "unknown" ? {} : { "http.route": route, "url.path": pathOf(request.url) }),
    "url.scheme": url?.protocol.slice(0, -1),
    // An IPv6 address is without its brackets there.
    "server.address": url?.hostname.replace(/^\[|\]$/g, ""),
    "server.port": url === undefined ? undefined : Number(url.port || (url.protocol === "https:" ? 443 : 80)),
    "user_agent.original": request.headers["user-agent"],
    "client.address": Option.getOrUndefined(request.remoteAddress),
  }
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined))
}

/** The conventions ask for failed spans where the server is at fault. */
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
 * Handles a request within a span, which continues the caller's trace if it `continues` traces; else it begins one of its
 * own. It is made whether or not spans go anywhere: problems and jobs name its trace, and providers may be told of the
 * caller's. It ends with the head of the answer.
 */
export const withRequestSpan =
  (routes: Pick<RouteTable, "label">, continues: boolean) =>
  <E, R>(
    request: HttpServerRequest.HttpServerRequest,
    app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  ): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R> => {
    const route = routes.label(request.method, request.url)
    return Effect.flatMap(
      Effect.makeSpan(`${request.method} ${route}`, {
        kind: "server",
        ...(continues
          ? { parent: callerSpan(request.headers["traceparent"], request.headers["tracestate"]) }
          : { root: true }),
        attributes: attributesOf(request, route),
      }),
      (span) =>
        // The span only adds to what `app` sees, so what it requires stays what it was.
        (Effect.withParentSpan(app, span, { captureStackTrace: false }) as typeof app).pipe(
          Effect.onExit((exit) =>
            Effect.map(Clock.currentTimeNanos, (now) => {
              if (Exit.isSuccess(exit)) span.attribute("http.response.status_code", exit.value.status)
              span.end(now, spanExit(request, exit))
            }),
          ),
        ),
    )
  }
