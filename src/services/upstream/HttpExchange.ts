/** Sends one POST to a model provider and reads its answer as it arrives. */
import type { Readable } from "node:stream"
import { Data, Effect, Exit, Scope } from "effect"
import type { Dispatcher } from "undici"
import type { Bytes } from "../../domain/bytes/bytes.ts"
import { isObject } from "../../domain/json/json.ts"
import { lend } from "../../domain/bytes/releaseBytes.ts"

/** Bytes of a body that may wait for their reader before reading from the connection pauses. */
const MAX_WAITING_BYTES = 64 * 1024

/**
 * A body of at least this size, which is more than a socket takes at once, is lent to its connection until it is
 * written.
 */
const LARGE_BODY = 128 * 1024

/** A request whose body is JSON, as text or UTF-8. */
export interface ProviderRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Bytes
}

/** Lends `bytes` until the connection has written them or closed: `undici` drains the socket after each piece. */
async function* lending(bytes: Bytes): AsyncGenerator<Bytes> {
  const giveBack = lend(bytes)
  try {
    yield bytes
  } finally {
    giveBack()
  }
}

const bodyOf = ({ body, headers }: ProviderRequest): Pick<Dispatcher.DispatchOptions, "body" | "headers"> =>
  typeof body === "string" || body.length < LARGE_BODY
    ? { headers, body }
    : {
        headers: { ...headers, "content-length": `${body.length}` },
        // undici accepts any iterable, although its types do not say so.
        body: lending(body) as unknown as Readable,
      }

/** The bytes that arrived since the last call, as soon as there are any; `undefined` at the end. */
export type NextPiece<A, E> = Effect.Effect<A | undefined, E>

/** The head of a response, and its body as it arrives. */
export interface ProviderResponse {
  readonly status: number
  /** By their names in lower case. */
  readonly headers: ResponseHeaders
  readonly body: NextPiece<Pieces, ConnectionFailed>
  /** Whether the whole body arrived, so that the connection can serve the next call without further reading. */
  readonly hasEnded: () => boolean
}

export type ResponseHeaders = Readonly<Partial<Record<string, string>>>

export type Pieces = ReadonlyArray<Uint8Array>

/** The connection could not be made, or broke. */
export class ConnectionFailed extends Data.TaggedError("ConnectionFailed")<{
  /** The error code of the system or of undici, such as `ECONNREFUSED`. Messages would name internal addresses. */
  readonly code: string | undefined
  /** Whether the network proxy in front of the server failed, and not the server. */
  readonly atNetworkProxy?: boolean
}> {}

/** Sends a request. Its connection closes with the scope, unless the response was read to its end. */
export const send = (
  agent: Dispatcher,
  request: ProviderRequest,
): Effect.Effect<ProviderResponse, ConnectionFailed, Scope.Scope> =>
  Effect.flatMap(Effect.scope, (scope) => {
    const url = new URL(request.url)
    const exchange = new Exchange(url)
    return Effect.andThen(
      // `acquireRelease` would copy the caller's whole context for the finalizer.
      Scope.addFinalizer(
        scope,
        Effect.sync(() => exchange.close()),
      ),
      Effect.callback<ProviderResponse, ConnectionFailed>((resume) => {
        exchange.onHead = resume
        const { origin, pathname, search } = url
        agent.dispatch({ origin, path: pathname + search, method: "POST", ...bodyOf(request) }, exchange)
      }),
    )
  })

/** A request and its response as `undici` reports them. The fiber resumes once per packet, not once per event. */
class Exchange implements Dispatcher.DispatchHandler {
  onHead: ((outcome: Exit.Exit<ProviderResponse, ConnectionFailed>) => void) | undefined
  private controller: Dispatcher.DispatchController | undefined
  private head: Exit.Exit<ProviderResponse, ConnectionFailed> | undefined
  private waiting: Array<Uint8Array> = []
  private waitingBytes = 0
  private isPaused = false
  private end: Exit.Exit<undefined, ConnectionFailed> | undefined
  private isClosed = false
  private isResumeScheduled = false
  private onPieces: (() => void) | undefined
  private readonly url: URL

  constructor(url: URL) {
    this.url = url
  }

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
    this.head = Exit.succeed({
      status,
      headers: joined(headers),
      body: this.body,
      hasEnded: () => this.end !== undefined,
    })
    this.scheduleResume()
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    this.waiting.push(chunk)
    this.waitingBytes += chunk.length
    if (this.onPieces !== undefined) return this.scheduleResume()
    if (this.waitingBytes <= MAX_WAITING_BYTES) return
    this.isPaused = true
    controller.pause()
  }

  onResponseEnd(): void {
    this.end = Exit.succeed(undefined)
    this.scheduleResume()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: unknown): void {
    const code = codeOf(error)
    const failure = Exit.fail(new ConnectionFailed({ code, atNetworkProxy: isOfNetworkProxy(error, code, this.url) }))
    this.end = failure
    this.head ??= failure
    this.scheduleResume()
  }

  close(): void {
    this.isClosed = true
    this.waiting = []
    if (this.end === undefined) this.controller?.abort(ABANDONED)
  }

  private readonly body: NextPiece<Pieces, ConnectionFailed> = Effect.callback((resume) => {
    // Checked here, in one step with the wait: bytes that arrived between two effects would wake nothing.
    const ready = this.take()
    if (ready !== undefined) return resume(ready)
    this.onPieces = () => {
      const pieces = this.take()
      if (pieces !== undefined) resume(pieces)
    }
    return Effect.sync(() => {
      this.onPieces = undefined
    })
  })

  private take(): Exit.Exit<Pieces | undefined, ConnectionFailed> | undefined {
    if (this.waiting.length === 0) return this.end
    const pieces = this.waiting
    this.waiting = []
    this.waitingBytes = 0
    if (this.isPaused) {
      this.isPaused = false
      this.controller?.resume()
    }
    return Exit.succeed(pieces)
  }

  /** Resumes the waiting fiber once the events of the current packet are through. */
  private scheduleResume(): void {
    if (this.isResumeScheduled) return
    this.isResumeScheduled = true
    queueMicrotask(() => {
      this.isResumeScheduled = false
      const { head, onHead, onPieces } = this
      if (head !== undefined && onHead !== undefined) {
        this.onHead = undefined
        return onHead(head)
      }
      this.onPieces = undefined
      onPieces?.()
    })
  }
}

const ABANDONED = new Error("The call was abandoned.")

/** `undici` has lower-cased the names already. */
const joined = (headers: Readonly<Record<string, string | Array<string> | undefined>>): ResponseHeaders => {
  const all: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) all[name] = Array.isArray(value) ? value.join(", ") : value
  }
  return all
}

const codeOf = (error: unknown): string | undefined => {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return undefined
  return CODE.test(error.code) ? error.code : undefined
}

/** undici's codes for a network proxy that broke off, or refused the tunnel. Abandoned calls end with `ABANDONED`. */
const NETWORK_PROXY = /^UND_ERR_(PRX_\w+|ABORTED)$/

/** Whether a connection failed at another host or port than that of `url`. Only a network proxy has another one. */
const isOfNetworkProxy = (error: unknown, code: string | undefined, { hostname, port, protocol }: URL): boolean => {
  if (code !== undefined && NETWORK_PROXY.test(code)) return true
  if (!isObject(error)) return false
  const asked = Number(port) || (protocol === "https:" ? 443 : 80)
  return (
    (typeof error["hostname"] === "string" && error["hostname"] !== hostname) ||
    (typeof error["port"] === "number" && error["port"] !== asked)
  )
}

const CODE = /^[A-Z][A-Z0-9_]*$/
