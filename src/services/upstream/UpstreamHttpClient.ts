/** The HTTP client behind every provider. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Duration, type Layer } from "effect"
import type { HttpClient } from "effect/http/HttpClient"
import type { UpstreamSettings } from "./UpstreamSettings.ts"

/** Largest response header section that is read, in bytes; a larger one fails the call. */
export const MAX_RESPONSE_HEADER_BYTES = 32 * 1024

/** How long an idle connection is kept for the next call, whatever the provider offers. */
const KEEP_ALIVE = Duration.seconds(30)

/**
 * An `HttpClient` with a connection pool of its own, closed with the layer's scope. The connect timeout covers DNS, TCP
 * and TLS. Time limits on answers are the fault policy's, bodies are bounded by the providers that read them. HTTP/1.1
 * only: each stream has its own connection, so one that stalls or breaks takes no other answer with it.
 */
export const layerUpstreamHttpClient = (
  timeouts: Pick<UpstreamSettings["timeouts"], "connect">,
): Layer.Layer<HttpClient> =>
  NodeHttpClient.layerUndiciOptions({
    connect: { timeout: Duration.toMillis(timeouts.connect) },
    maxHeaderSize: MAX_RESPONSE_HEADER_BYTES,
    keepAliveMaxTimeout: Duration.toMillis(KEEP_ALIVE),
    allowH2: false,
  })
