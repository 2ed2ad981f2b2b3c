/** One POST to a model provider, and its answer as it arrives. */
import type { Readable } from "node:stream"
import { Data, Effect, Exit, Scope } from "effect"
import type { Dispatcher } from "undici"
import type { Bytes } from "../../domain/bytes/bytes.ts"
import { lend } from "../../domain/bytes/releaseBytes.ts"

/** How many bytes of a body may wait for their reader before reading from the connection pauses. */
const MAX_WAITING_BYTES = 64 * 1024

/** From so many bytes on, more than a socket takes at once, a body is lent to its connection until it was written. */
const LARGE_BODY = 128 * 1024

/** A request with a JSON text as its body, or the UTF-8 of one. */
export interface ProviderRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Bytes
}

/** Is asked for more once the connection wrote `bytes` out, or closed: `undici` has the socket drain after each piece. */
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
        // It takes all that can be iterated over, which its types leave out.
        body: lending(body) as unknown as Readable,
      }

/** What came since it was last asked for, as soon as there is something; `undefined` at the end. */
export type Next<A, E> = Effect.Effect<A | undefined, E>

/** The head of an answer, and its body as it comes. */
export interface ProviderResponse {
  readonly status: number
  /** By their names in lower case. */
  readonly headers: ResponseHeaders
  readonly body: Next<Pieces, ConnectionFailed>
  /** Whether all of the body came, so that nothing has to be read for the connection to serve the next call. */
  readonly hasEnded: () => boolean
}

export type ResponseHeaders = Readonly<Partial<Record<string, string>>>

/** Bytes as they arrived, at least some. */
export type Pieces = ReadonlyArray<Uint8Array>

/** The connection could not be made, or broke. */
export class ConnectionFailed extends Data.TaggedError("ConnectionFailed")<{
  /** The error code of the system or of undici, such as `ECONNREFUSED`; messages would name internal addresses. */
  readonly code: string | undefined
}> {}

/** Sends a request. Its connection closes with the scope, unless the response was read to its end. */
export const send = (
  agent: Dispatcher,
  request: ProviderRequest,
): Effect.Effect<ProviderResponse, ConnectionFailed, Scope.Scope> =>
  Effect.flatMap(Effect.scope, (scope) => {
    const exchange = new Exchange()
    return Effect.andThen(
      // `acquireRelease` would copy the whole context of its caller for the finalizer.
      Scope.addFinalizer(
        scope,
        Effect.sync(() => exchange.close()),
      ),
      Effect.callback<ProviderResponse, ConnectionFailed>((resume) => {
        exchange.onHead = resume
        const { origin, pathname, search } = new URL(request.url)
        agent.dispatch({ origin, path: pathname + search, method: "POST", ...bodyOf(request) }, exchange)
      }),
    )
  })

/**
 * One request and its response, as `undici` reports them. Whoever waits is told after all of a packet was reported: of
 * most answers that is head, body and end, for which it would else be woken three times.
 */
class Exchange implements Dispatcher.DispatchHandler {
  /** Receives the head of the response, or the failure to get one. */
  onHead: ((outcome: Exit.Exit<ProviderResponse, ConnectionFailed>) => void) | undefined
  private controller: Dispatcher.DispatchController | undefined
  private head: Exit.Exit<ProviderResponse, ConnectionFailed> | undefined
  private waiting: Array<Uint8Array> = []
  private waitingBytes = 0
  private isPaused = false
  private end: Exit.Exit<undefined, ConnectionFailed> | undefined
  private isClosed = false
  private isTelling = false
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
    this.head = Exit.succeed({
      status,
      headers: joined(headers),
      body: this.body,
      hasEnded: () => this.end !== undefined,
    })
    this.tell()
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
    this.end = Exit.succeed(undefined)
    this.tell()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: unknown): void {
    const failure = Exit.fail(new ConnectionFailed({ code: codeOf(error) }))
    this.end = failure
    this.head ??= failure
    this.tell()
  }

  close(): void {
    this.isClosed = true
    this.waiting = []
    if (this.end === undefined) this.controller?.abort(ABANDONED)
  }

  private readonly body: Next<Pieces, ConnectionFailed> = Effect.callback((resume) => {
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

  private tell(): void {
    if (this.isTelling) return
    this.isTelling = true
    queueMicrotask(() => {
      this.isTelling = false
      const { head, onHead, onMore } = this
      if (head !== undefined && onHead !== undefined) {
        this.onHead = undefined
        return onHead(head)
      }
      this.onMore = undefined
      onMore?.()
    })
  }
}

const ABANDONED = new Error("Nobody waits for the answer any more.")

/** `undici` has the names in lower case already. */
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

const CODE = /^[A-Z][A-Z0-9_]*$/
