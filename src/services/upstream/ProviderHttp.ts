/**
 * HTTP to model providers: one POST, whose response body is read as it arrives. It uses `undici`'s dispatcher directly,
 * because every completion and every chunk passes here, and the request, response and stream objects of a general
 * client cost several times as much as the exchange.
 */
import { Context, Duration, Effect, Layer, Redacted, Scope } from "effect"
import type { Dispatcher } from "undici"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import { hostName, isLoopback } from "../../domain/access/hostName.ts"
import { traceContextOf } from "../../domain/operations/traceContext.ts"
import { type ConnectionFailed, type ProviderRequest, type ProviderResponse, send } from "./HttpExchange.ts"
import type { UpstreamSettings } from "./UpstreamSettings.ts"

/** The largest response header section in bytes. A larger one fails the call. */
export const MAX_RESPONSE_HEADER_BYTES = 128 * 1024

/** How long an idle connection is kept, even if the provider would keep it longer. */
const KEEP_ALIVE = Duration.seconds(30)

/** undici's own time limits are off, because the fault policy sets them. */
const NO_LIMIT = 0

/** The network's HTTP proxies, through which providers are reached by a tunnel (`CONNECT`, RFC 9110 §9.3.6). */
export interface NetworkProxies {
  readonly http: Redacted.Redacted | undefined
  readonly https: Redacted.Redacted | undefined
  /** Hosts that are called without a proxy, as in `NO_PROXY`. */
  readonly except: string | undefined
}

const open = <A extends Dispatcher>(make: () => A) =>
  Effect.acquireRelease(Effect.sync(make), (dispatcher) => Effect.promise(() => dispatcher.destroy()))

/**
 * Makes the pool of connections to providers, or to the proxies in front of them. Loopback addresses never go through a
 * proxy, where they would name another machine; nor do schemes without a proxy.
 */
export const makeDispatcher = Effect.fnUntraced(function* (
  connect: Duration.Duration,
  proxies: NetworkProxies | undefined,
) {
  const { Agent, EnvHttpProxyAgent } = yield* Effect.promise(() => import("undici"))
  const timeout = Duration.toMillis(connect)
  const options = {
    connect: { timeout },
    maxHeaderSize: MAX_RESPONSE_HEADER_BYTES,
    keepAliveMaxTimeout: Duration.toMillis(KEEP_ALIVE),
    headersTimeout: NO_LIMIT,
    bodyTimeout: NO_LIMIT,
    allowH2: false,
  }
  const direct: Dispatcher = yield* open(() => new Agent(options))
  if (proxies === undefined) return direct
  const url = (proxy: Redacted.Redacted | undefined) => (proxy === undefined ? "" : Redacted.value(proxy))
  const proxied = yield* open(
    () =>
      new EnvHttpProxyAgent({
        ...options,
        // A tunnel gives each call its own connection. Plain forwarding would put all calls on one connection to the
        // proxy.
        proxyTunnel: true,
        requestTls: { timeout },
        proxyTls: { timeout },
        // Empty strings rather than absent members, because undici reads absent ones from the environment.
        httpProxy: url(proxies.http),
        httpsProxy: url(proxies.https),
        noProxy: proxies.except ?? "",
      }),
  )
  return proxied.compose((dispatch) => (request, handler) => {
    const { host, protocol } = new URL(String(request.origin))
    const isDirect = isLoopback(hostName(host)) || (protocol === "https:" ? proxies.https : proxies.http) === undefined
    return isDirect ? direct.dispatch(request, handler) : dispatch(request, handler)
  })
})

export class ProviderHttp extends Context.Service<
  ProviderHttp,
  {
    /** Sends a request. Its connection closes with the scope, unless the response was read to its end. */
    readonly post: (request: ProviderRequest) => Effect.Effect<ProviderResponse, ConnectionFailed, Scope.Scope>
  }
>()("sealgate/services/upstream/ProviderHttp") {
  /**
   * Makes a pool that closes with the layer's scope. The connect timeout covers DNS, TCP and TLS, and may come up to a
   * second late. The providers that read bodies bound them. HTTP/1.1 only: each stream has its own connection, so one
   * that stalls or breaks affects no other. With `traceHeaders`, calls carry the trace context of their span (W3C Trace
   * Context).
   */
  static readonly layer = ({
    connect,
    proxies,
    traceHeaders,
  }: Pick<UpstreamSettings["timeouts"], "connect"> & {
    readonly traceHeaders: boolean
    readonly proxies?: NetworkProxies | undefined
  }): Layer.Layer<ProviderHttp> =>
    Layer.effect(
      ProviderHttp,
      Effect.gen(function* () {
        const scope = yield* Effect.scope
        // Made for the first call, because undici is the slowest library to load at a start. All calls wait for the
        // same pool, so a call that gives up does not cancel it for the others.
        let agent: Dispatcher | undefined
        const make = yield* Effect.cached(
          Effect.uninterruptible(
            Effect.map(Scope.provide(makeDispatcher(connect, proxies), scope), (made) => (agent = made)),
          ),
        )
        const post = (request: ProviderRequest) =>
          agent === undefined ? Effect.flatMap(make, (made) => send(made, request)) : send(agent, request)
        return ProviderHttp.of({
          post: traceHeaders ? (request) => Effect.flatMap(traced(request), post) : post,
        })
      }),
    )
}

const traced = (request: ProviderRequest): Effect.Effect<ProviderRequest> =>
  Effect.match(Effect.currentParentSpan, {
    onFailure: () => request,
    onSuccess: (span) => {
      const context = traceContextOf(span)
      if (context === undefined) return request
      const { traceparent, tracestate } = context
      return { ...request, headers: { ...request.headers, traceparent, ...withoutUndefined({ tracestate }) } }
    },
  })
