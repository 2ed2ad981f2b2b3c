/**
 * HTTP to model providers: one POST, whose response body is pulled as it arrives. It uses `undici`'s dispatcher
 * directly, because every completion and every chunk passes here, and the request, response and stream objects of a
 * general client cost several times what the exchange does.
 */
import { Cause, Context, Data, Duration, Effect, Exit, Layer, type Pull, Redacted, type Scope } from "effect"
import { Agent, type Dispatcher, EnvHttpProxyAgent } from "undici"
import { defined } from "../../domain/defined.ts"
import { hostName, isLoopback } from "../../domain/hostName.ts"
import { traceContextOf } from "../../domain/traceContext.ts"
import type { UpstreamSettings } from "./UpstreamSettings.ts"

/** The largest response header section, in bytes; a larger one fails the call. */
export const MAX_RESPONSE_HEADER_BYTES = 32 * 1024

/** How long an idle connection is kept, even if the provider would keep it longer. */
const KEEP_ALIVE = Duration.seconds(30)

/** How many bytes of a body may wait for their reader before reading from the connection pauses. */
const MAX_WAITING_BYTES = 64 * 1024

/** undici's own time limits are off, because the fault policy sets them. */
const NO_LIMIT = 0

/** HTTP proxies of the network, through which providers are reached by a tunnel (`CONNECT`, RFC 9110 §9.3.6). */
export interface NetworkProxies {
  readonly http: Redacted.Redacted | undefined
  readonly https: Redacted.Redacted | undefined
  /** Hosts that are called without them, as `NO_PROXY` has them. */
  readonly except: string | undefined
}

/** A connection pool that is closed with its scope. */
const open = <A extends Dispatcher>(make: () => A) =>
  Effect.acquireRelease(Effect.sync(make), (dispatcher) => Effect.promise(() => dispatcher.destroy()))

/**
 * Makes the pool of connections to providers, or to the proxies in front of them. This machine is never called through a
 * proxy, to which its name would mean another, and neither is a scheme that has none.
 */
export const makeDispatcher = Effect.fnUntraced(function* (
  connect: Duration.Duration,
  proxies: NetworkProxies | undefined,
) {
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
        // A tunnel gives each call a connection of its own; without tunnels, all calls through one proxy would share one.
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

/** A request with a JSON text as its body. */
export interface ProviderRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The head of an answer, and its body as it comes. */
export interface ProviderResponse {
  readonly status: number
  /** By their names in lower case. */
  readonly headers: ResponseHeaders
  readonly body: Pull.Pull<Pieces, ConnectionFailed>
}

export type ResponseHeaders = Readonly<Partial<Record<string, string>>>

/** The bytes that arrived since the last pull. */
export type Pieces = readonly [Uint8Array, ...ReadonlyArray<Uint8Array>]

/** The connection could not be made, or broke. */
export class ConnectionFailed extends Data.TaggedError("ConnectionFailed")<{
  /** The error code of the system or of undici, such as `ECONNREFUSED`; messages would name internal addresses. */
  readonly code: string | undefined
}> {}

export class ProviderHttp extends Context.Service<
  ProviderHttp,
  {
    /** Sends a request. Its connection closes with the scope, unless the response was read to its end. */
    readonly post: (request: ProviderRequest) => Effect.Effect<ProviderResponse, ConnectionFailed, Scope.Scope>
  }
>()("sealgate/services/upstream/ProviderHttp") {
  /**
   * Connections of its own, closed with the layer's scope. The connect timeout covers DNS, TCP and TLS; it may come up to
   * a second late. Bodies are bounded by the providers that read them. HTTP/1.1 only: each stream has its own connection,
   * so one that stalls or breaks takes no other answer with it. With `traceHeaders`, the trace context of the call's span
   * is sent along (W3C Trace Context).
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
        const agent = yield* makeDispatcher(connect, proxies)
        const post = (request: ProviderRequest) => send(agent, request)
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
      return { ...request, headers: { ...request.headers, traceparent, ...defined({ tracestate }) } }
    },
  })

const send = (
  agent: Dispatcher,
  { body, headers, url }: ProviderRequest,
): Effect.Effect<ProviderResponse, ConnectionFailed, Scope.Scope> =>
  Effect.flatMap(
    Effect.acquireRelease(
      Effect.sync(() => new Exchange()),
      (exchange) => Effect.sync(() => exchange.close()),
    ),
    (exchange) =>
      Effect.callback<ProviderResponse, ConnectionFailed>((resume) => {
        exchange.onHead = resume
        const { origin, pathname, search } = new URL(url)
        agent.dispatch({ origin, path: pathname + search, method: "POST", headers, body }, exchange)
      }),
  )

/** One request and its response, as `undici` reports them. */
class Exchange implements Dispatcher.DispatchHandler {
  /** Receives the head of the response, or the failure to get one. */
  onHead: (outcome: Effect.Effect<ProviderResponse, ConnectionFailed>) => void = () => undefined
  private controller: Dispatcher.DispatchController | undefined
  private waiting: Array<Uint8Array> = []
  private waitingBytes = 0
  private isPaused = false
  private end: Exit.Exit<never, ConnectionFailed | Cause.Done> | undefined
  private isClosed = false
  private onMore: (() => void) | undefined

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.isClosed) controller.abort(ABANDONED)
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | Array<string> | undefined>>,
  ): void {
    // An interim response, such as 103.
    if (status < 200) return
    this.onHead(Effect.succeed({ status, headers: joined(headers), body: this.pull }))
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    this.waiting.push(chunk)
    this.waitingBytes += chunk.length
    if (this.onMore !== undefined) return this.tell()
    if (this.waitingBytes <= MAX_WAITING_BYTES) return
    this.isPaused = true
    controller.pause()
  }

  onResponseEnd(): void {
    this.end = Exit.fail(Cause.Done())
    this.tell()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: unknown): void {
    const failure = Exit.fail(new ConnectionFailed({ code: codeOf(error) }))
    this.end = failure
    this.onHead(failure)
    this.tell()
  }

  close(): void {
    this.isClosed = true
    this.waiting = []
    if (this.end === undefined) this.controller?.abort(ABANDONED)
  }

  private readonly pull: Pull.Pull<Pieces, ConnectionFailed> = Effect.callback((resume) => {
    // Looked for here and not before: a fiber may pause between two effects, and what came then would wake nobody.
    const ready = this.take()
    if (ready !== undefined) return resume(ready)
    this.onMore = () => {
      const more = this.take()
      if (more !== undefined) resume(more)
    }
    return Effect.sync(() => {
      this.onMore = undefined
    })
  })

  private take(): Effect.Effect<Pieces, ConnectionFailed | Cause.Done> | undefined {
    const [first, ...rest] = this.waiting
    if (first === undefined) return this.end
    this.waiting = []
    this.waitingBytes = 0
    if (this.isPaused) {
      this.isPaused = false
      this.controller?.resume()
    }
    return Exit.succeed([first, ...rest])
  }

  private tell(): void {
    const told = this.onMore
    this.onMore = undefined
    told?.()
  }
}

const ABANDONED = new Error("Nobody waits for the answer any more.")

const joined = (headers: Readonly<Record<string, string | Array<string> | undefined>>): ResponseHeaders =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      Array.isArray(value) ? value.join(", ") : value,
    ]),
  )

const codeOf = (error: unknown): string | undefined => {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return undefined
  return CODE.test(error.code) ? error.code : undefined
}

const CODE = /^[A-Z][A-Z0-9_]*$/
