/** The HTTP client behind every provider. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Duration, Effect, Layer, Option } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { traceContextOf } from "../../domain/traceContext.ts"
import type { UpstreamSettings } from "./UpstreamSettings.ts"

/** Largest response header section that is read, in bytes; a larger one fails the call. */
export const MAX_RESPONSE_HEADER_BYTES = 32 * 1024

/** How long an idle connection is kept for the next call, whatever the provider offers. */
const KEEP_ALIVE = Duration.seconds(30)

/**
 * The client's own spans would hold the provider's headers and, when it does not speak HTTP, whatever it said, which
 * may quote keys and prompts. Calls have a span of their own.
 */
const withoutSpans = HttpClient.transformResponse(Effect.provideService(HttpClient.TracerDisabledWhen, () => true))

/** Sends the trace context of the call's span along (W3C Trace Context). */
const traced = (client: HttpClient.HttpClient): HttpClient.HttpClient =>
  client.pipe(
    HttpClient.mapRequestEffect((request) =>
      Effect.map(Effect.option(Effect.currentParentSpan), (span) => {
        const context = Option.isNone(span) ? undefined : traceContextOf(span.value)
        return context === undefined ? request : HttpClientRequest.setHeaders(request, { ...context })
      }),
    ),
  )

/**
 * An `HttpClient` with a connection pool of its own, closed with the layer's scope. The connect timeout covers DNS, TCP
 * and TLS; it may come up to a second late. Time limits on answers are the fault policy's, bodies are bounded by the
 * providers that read them. HTTP/1.1 only: each stream has its own connection, so one that stalls or breaks takes no
 * other answer with it.
 */
export const layerUpstreamHttpClient = ({
  connect,
  traceHeaders,
}: Pick<UpstreamSettings["timeouts"], "connect"> & {
  readonly traceHeaders: boolean
}): Layer.Layer<HttpClient.HttpClient> =>
  Layer.effect(
    HttpClient.HttpClient,
    Effect.map(HttpClient.HttpClient, (client) => withoutSpans(traceHeaders ? traced(client) : client)),
  ).pipe(
    Layer.provide(
      NodeHttpClient.layerUndiciOptions({
        connect: { timeout: Duration.toMillis(connect) },
        maxHeaderSize: MAX_RESPONSE_HEADER_BYTES,
        keepAliveMaxTimeout: Duration.toMillis(KEEP_ALIVE),
        allowH2: false,
      }),
    ),
  )
