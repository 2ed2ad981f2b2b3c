/** The sealed `fetch` as a local endpoint, in plaintext: it serves only this machine and no web pages. */
import { ByteSize, Cause, Duration, Effect, Layer, Stream } from "effect"
import {
  HttpIncomingMessage,
  HttpRouter,
  HttpServerError,
  type HttpServerRequest,
  HttpServerRequest as ServerRequest,
  HttpServerResponse,
} from "effect/http"
import { clientErrorAnswer, type ErrorAnswer, problemAnswer } from "../../client/sdk/errorAnswer.ts"
import { SealgateError } from "../../client/errors.ts"
import { vendorAsked } from "../../client/sdk/vendors/endpoints.ts"
import { apiAt } from "../../domain/upstream/apis.ts"
import { errorReply } from "../../client/sdk/vendors/Vendor.ts"
import { isRefusal } from "../../domain/problems/refusal.ts"
import { logFault } from "../../services/logFault.ts"
import { CALLED_BY_SEALGATE, isOurServer, SOFTWARE } from "../../domain/operations/software.ts"
import { Drain } from "../../services/lifecycle/Drain.ts"
import { decoding } from "../shared/decoding.ts"
import { type HostRules, hostRefusal } from "../shared/Hosts.ts"
import { BodyLimit } from "../shared/JsonBody.ts"
import { originRefusal } from "../shared/Origins.ts"
import { ReceiptsUnwritable } from "./ReceiptFolder.ts"

type Request = HttpServerRequest.HttpServerRequest

/**
 * Prefix for paths, of which only the path is used. As a relative URL, a path that begins with two slashes would name a
 * host.
 */
const SOMEWHERE = "http://connector.invalid"

const addressOf = ({ url }: Request): string => (url.startsWith("/") ? SOMEWHERE + url : url)

const pathOf = (request: Request): string => URL.parse(addressOf(request))?.pathname ?? ""

const refuse = (request: Request, answer: ErrorAnswer): HttpServerResponse.HttpServerResponse => {
  const vendor = vendorAsked(pathOf(request), { has: (name) => name in request.headers })
  const { body, ...options } = errorReply(vendor, answer)
  return HttpServerResponse.jsonUnsafe(body, options)
}

export const failureAnswer = (error: unknown): ErrorAnswer => {
  const cause = error instanceof TypeError && error.cause instanceof SealgateError ? error.cause : error
  if (cause instanceof SealgateError) return clientErrorAnswer(cause)
  if (cause instanceof ReceiptsUnwritable) return { status: 500, code: "receipts-unwritable", message: cause.message }
  if (cause instanceof TypeError) {
    return { status: 502, code: "unreachable", message: "The proxy could not be reached.", retryable: true }
  }
  return { status: 500, code: "internal", message: "Something went wrong in the connector." }
}

interface ConnectorOptions {
  readonly hosts: HostRules
  /** The sealed `fetch` that answers every request. */
  readonly fetch: typeof globalThis.fetch
  readonly maxBodyBytes: number
}

/** Whether a request calls an endpoint of an API, so its body is read. */
const isAsking = (request: Request): boolean => request.method === "POST" && apiAt(pathOf(request)) !== undefined

const NO_ORIGINS: ReadonlySet<string> = new Set()

/** Refuses a request by its head. */
const objection = (request: Request, options: ConnectorOptions) => {
  const refusal =
    hostRefusal(request, options.hosts, "--allow-host") ??
    originRefusal(request, NO_ORIGINS, "Web pages may not use this connector.")
  const answer = refusal === undefined ? objectionTo(request, options) : problemAnswer(refusal.problem, undefined)
  return answer && refuse(request, answer)
}

const objectionTo = (request: Request, options: ConnectorOptions): ErrorAnswer | undefined => {
  if (isOurServer(request.headers["user-agent"])) return CALLED
  if (!URL.canParse(addressOf(request))) {
    return { status: 400, code: "malformed", message: "The request's URL is not valid." }
  }
  if (Number(request.headers["content-length"] ?? 0) > options.maxBodyBytes) return tooLarge(options)
  if (isAsking(request) && !/^application\/json\b/i.test(request.headers["content-type"] ?? "")) {
    return { status: 415, code: "unsupported_media_type", message: "Send application/json." }
  }
  return undefined
}

/** A proxy with this connector as its provider would call itself through it, without end. */
const CALLED: ErrorAnswer = {
  status: 508,
  code: CALLED_BY_SEALGATE,
  message:
    "A sealgate proxy or gateway has this connector as its provider, which is a loop if this connector seals to it. " +
    "To use a sealed proxy as a provider, set PROVIDERn_BASE_URL to the proxy and PROVIDERn_SEALED_PIN to its pin.",
}

const tooLarge = ({ maxBodyBytes }: ConnectorOptions): ErrorAnswer => ({
  status: 413,
  code: "too-large",
  message: `The request body is too large: at most ${maxBodyBytes} bytes are accepted.`,
  headers: { connection: "close" },
})

const UNREADABLE: ErrorAnswer = { status: 400, code: "unreadable", message: "The request body could not be read." }

/** The body of an API call, decompressed; other bodies stay unread. Fails with the refusing response. */
const bodyOf = Effect.fnUntraced(
  function* (request: Request, options: ConnectorOptions) {
    if (!isAsking(request)) return null
    const decode = yield* decoding(request, () => Effect.void)
    const sent = yield* request.arrayBuffer.pipe(
      Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(options.maxBodyBytes)),
      Effect.catch((error) =>
        Effect.flatMap(HttpServerError.causeResponse(Cause.fail(error)), ([{ status }]) =>
          Effect.fail(status === 413 ? tooLarge(options) : UNREADABLE),
        ),
      ),
    )
    return decode === undefined ? sent : yield* decode(new Uint8Array(sent))
  },
  (body, request, { maxBodyBytes }) =>
    body.pipe(
      Effect.provideService(BodyLimit, maxBodyBytes),
      Effect.mapError((error) => refuse(request, isRefusal(error) ? problemAnswer(error.problem, undefined) : error)),
    ),
)

/** Delay before the connection is cut, so that the error event before it is sent. */
const LAST_WORDS = Duration.millis(100)

/** If the stream breaks, sends an error event, then cuts the connection: readers of events and of bytes both notice. */
const streamBody = (body: ReadableStream<Uint8Array>): Stream.Stream<Uint8Array, unknown> =>
  Stream.fromReadableStream({ evaluate: () => body, onError: (error) => error }).pipe(
    Stream.catch((error) => Stream.fromEffect(Effect.andThen(Effect.sleep(LAST_WORDS), Effect.fail(error)))),
  )

const toServerResponse = (response: Response): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const options = { status: response.status, headers: Object.fromEntries(response.headers) }
  const { body } = response
  if (body !== null && response.headers.get("content-type") === "text/event-stream") {
    return Effect.succeed(HttpServerResponse.stream(streamBody(body), { ...options, contentType: "text/event-stream" }))
  }
  return Effect.map(
    Effect.promise(() => response.text()),
    (text) => HttpServerResponse.text(text, { ...options, contentType: "application/json" }),
  )
}

const handle = Effect.fnUntraced(function* (request: Request, options: ConnectorOptions, drain: Drain["Service"]) {
  const refused = objection(request, options)
  if (refused !== undefined) return refused
  if (yield* drain.draining) {
    return refuse(request, {
      status: 503,
      code: "draining",
      message: "The connector is shutting down.",
      retryable: true,
    })
  }
  // The request's scope stays open until the response is written, so a stream counts until its end.
  yield* drain.inFlight("request")
  const body = yield* bodyOf(request, options)
  const answer = Effect.tryPromise({
    try: (signal) => {
      const { headers, method } = request
      return options.fetch(addressOf(request), { method, headers, body, signal })
    },
    catch: (error) => refuse(request, failureAnswer(error)),
  })
  return yield* Effect.flatMap(answer, toServerResponse)
})

/** Any other failure is a defect of the connector. The log gets its place in the code, never the message. */
const rescued = (request: Request, app: ReturnType<typeof handle>) =>
  app.pipe(
    // `handle` fails with the refusing response.
    Effect.catch((response) => Effect.succeed(response)),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.failCause(cause)
        : Effect.as(logFault("request failed", cause), refuse(request, failureAnswer(undefined))),
    ),
  )

/** Serves `POST` to the APIs' paths, `GET /v1/models` and `GET /health`. Nothing else can be sealed. */
export const layerConnectorRoutes = (options: ConnectorOptions) =>
  Layer.mergeAll(
    HttpRouter.add(
      "GET",
      "/health",
      Effect.map(
        ServerRequest.HttpServerRequest,
        (request) => objection(request, options) ?? HttpServerResponse.jsonUnsafe({ status: "ok", software: SOFTWARE }),
      ),
    ),
    Layer.unwrap(
      Effect.map(Drain, (drain) =>
        HttpRouter.add("*", "/*", (request) => rescued(request, handle(request, options, drain))),
      ),
    ),
  )
