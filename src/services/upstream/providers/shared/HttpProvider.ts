/** A provider that is reached over HTTP: one call is one request, without retries, time limits or second choices. */
import { Clock, Effect, Option, Random, Stream } from "effect"
import { Headers, HttpClient, type HttpClientError, HttpClientRequest, type HttpClientResponse } from "effect/http"
import type { ChatRequest } from "../../../../domain/chat.ts"
import type { Provider, ProviderFailure } from "../../Provider.ts"
import { chunkStream } from "./EventStream.ts"
import { failure, failureOfResponse, garbage } from "./Failures.ts"
import { legacyChunk, legacyCompletion, usesFunctions, withTools } from "./LegacyFunctions.ts"
import { LIMITS, type Limits } from "./Limits.ts"
import { jsonBody, parseJson, someText } from "./ResponseBody.ts"
import { retryAfterMs } from "./RetryAfter.ts"
import { Unsupported } from "./Unsupported.ts"
import { connectionCode, withConnectionCode } from "./connectionCode.ts"
import { withoutKey } from "./withoutKey.ts"
import type { Call, ProviderOptions, WireFormat } from "./WireFormat.ts"

/** Makes a provider that speaks `format`. Interrupting a call closes its connection. */
export const makeHttpProvider = Effect.fnUntraced(function* (
  options: ProviderOptions,
  format: WireFormat,
): Effect.fn.Return<Provider, never, HttpClient.HttpClient> {
  const client = (yield* HttpClient.HttpClient).pipe(
    HttpClient.withScope,
    HttpClient.transformResponse(Effect.provideService(Headers.CurrentRedactedNames, SECRET_HEADERS)),
  )
  const limits: Limits = { ...LIMITS, ...options.limits }

  const prepare = Effect.fnUntraced(function* (asked: ChatRequest, stream: boolean) {
    const call: Call = {
      model: asked.model ?? options.defaultModel,
      stream,
      choices: asked.n ?? 1,
      id: `chatcmpl-${(yield* Random.nextIntBetween(0, Number.MAX_SAFE_INTEGER)).toString(36)}`,
      created: Math.floor((yield* Clock.currentTimeMillis) / 1000),
    }
    const unsupported = new Unsupported()
    const request = format.request(withTools(asked, format.singleToolCall, unsupported), call, unsupported)
    if (unsupported.failure !== undefined) return yield* unsupported.failure
    return { call, request: HttpClientRequest.accept(request, stream ? "text/event-stream" : "application/json") }
  })

  const execute = Effect.fnUntraced(function* (request: HttpClientRequest.HttpClientRequest, contentType: RegExp) {
    const response = yield* Effect.mapError(client.execute(request), unreachable)
    if (response.status < 200 || response.status > 299) return yield* refused(response, limits)
    const type = response.headers["content-type"]
    if (type !== undefined && !contentType.test(type)) return yield* garbage(`an answer of type ${type}`)
    return response
  })

  return {
    id: options.id,
    defaultModel: options.defaultModel,
    complete: Effect.fnUntraced(
      function* (asked) {
        const { call, request } = yield* prepare(asked, false)
        const response = yield* execute(request, JSON_TYPE)
        const body = yield* jsonBody(response, limits.responseBytes)
        const completion = yield* Effect.fromResult(format.completion(body, call))
        return usesFunctions(asked) ? legacyCompletion(completion) : completion
      },
      Effect.mapError(withoutKey(options.apiKey)),
      Effect.scoped,
    ),
    stream: (asked, watch) =>
      Stream.unwrap(
        Effect.map(prepare(asked, true), ({ call, request }) => {
          const chunks = chunkStream(execute(request, EVENT_STREAM_TYPE), format.reader(call), limits, watch)
          return usesFunctions(asked) ? Stream.map(chunks, legacyChunk) : chunks
        }),
      ).pipe(Stream.mapError(withoutKey(options.apiKey))),
  }
})

/** What the client, and the system under it, call a connection that did not stand in time. */
const CONNECT_TIMEOUT_CODES: ReadonlySet<string | undefined> = new Set(["UND_ERR_CONNECT_TIMEOUT", "ETIMEDOUT"])

/** A call that got no response. A target that keeps silent differs from one that is gone: it is not tried again. */
const unreachable = (error: HttpClientError.HttpClientError): ProviderFailure => {
  const late = CONNECT_TIMEOUT_CODES.has(connectionCode(error))
  return failure(late ? "timeout" : "unavailable", withConnectionCode("no answer", error))
}

/** `base` and `path` joined by exactly one slash. */
export const joinUrl = (base: string, path: string): string => `${base.replace(/\/+$/, "")}/${path}`

/** Headers whose values never enter a span: all that any provider takes a key in. */
const SECRET_HEADERS = ["authorization", "x-api-key", "x-goog-api-key"]

const JSON_TYPE = /^application\/(.+\+)?json\b/i
const EVENT_STREAM_TYPE = /^text\/event-stream\b/i

/** The failure that a response without success is. */
const refused = Effect.fnUntraced(function* (
  response: HttpClientResponse.HttpClientResponse,
  limits: Limits,
): Effect.fn.Return<never, ProviderFailure> {
  const text = yield* someText(response, limits.errorBytes)
  const after = retryAfterMs(response.headers, yield* Clock.currentTimeMillis)
  const html = /^text\/html\b/i.test(response.headers["content-type"] ?? "")
  const body = Option.getOrElse(parseJson(text), () => (html || text === "" ? undefined : { error: text }))
  const found = failureOfResponse(response.status, body, after)
  // A page for people is no provider's verdict on the request: something else answered in its place.
  const verdict = found.kind === "invalid-request" || found.kind === "unknown-model"
  return yield* html && verdict ? garbage(`a page with status ${response.status}`) : found
})
