import { Effect, Option } from "effect"
import { type HttpServerRequest, HttpTraceContext } from "effect/http"

/**
 * Handles a request within a span, which continues the caller's trace (W3C Trace Context). Where spans go nowhere, the
 * HTTP server makes none; whoever hands out trace ids needs one all the same.
 */
export const withRequestSpan = <A, E, R>(
  request: HttpServerRequest.HttpServerRequest,
  app: Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> =>
  Effect.flatMap(Effect.option(Effect.currentSpan), (span) =>
    Option.isSome(span)
      ? app
      : // The span only adds to what `app` sees, so what it requires stays what it was.
        (Effect.withSpan(app, "http.server.request", {
          kind: "server",
          parent: Option.getOrUndefined(HttpTraceContext.fromHeaders(request.headers)),
        }) as typeof app),
  )
