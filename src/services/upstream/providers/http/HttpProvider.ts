/** A provider that is called over HTTP: one call is one request, without retries, time limits or failover. */
import { Clock, Effect, Predicate, Random, Result, type Scope, Stream } from "effect"
import { CHAT_COMPLETIONS } from "../../../../domain/apis.ts"
import type { ChatRequest } from "../../../../domain/chat.ts"
import { failureRules } from "../../../../domain/failures.ts"
import { accumulate } from "../../../../domain/chatStream.ts"
import type { JsonObject } from "../../../../domain/json.ts"
import type { RawObject } from "../../../../domain/rawObject.ts"
import { iJsonOf } from "../../../../domain/surrogates.ts"
import { SOFTWARE } from "../../../../domain/software.ts"
import { saidIn } from "../../apis/ChatReading.ts"
import { PassingReader } from "../../apis/PassingReader.ts"
import type { NativeApis, Provider, ProviderFailure, StreamWatch } from "../../Provider.ts"
import { type ConnectionFailed, ProviderHttp, type ProviderRequest, type ProviderResponse } from "../../ProviderHttp.ts"
import { answerJson } from "./answerJson.ts"
import { reportsError } from "./ErrorBody.ts"
import { chunkStream, eventChunks } from "./chunkStream.ts"
import type { ProviderApi } from "../shared/Descriptor.ts"
import { failure, garbage, withUsage } from "../shared/providerFailures.ts"
import { failureOfEvent, failureOfResponse } from "./errorFailures.ts"
import { legacyChunk, legacyCompletion, usesFunctions, withTools } from "../shared/LegacyFunctions.ts"
import { LIMITS, type Limits } from "../shared/Limits.ts"
import { noStream, passedAnswer } from "./passedAnswer.ts"
import { type JsonBody, openBody, PAGE_TYPE, someText } from "./ResponseBody.ts"
import { retryAfterMs } from "./RetryAfter.ts"
import { Unsupported } from "../shared/Unsupported.ts"
import { withCode } from "./brokenConnection.ts"
import { toChunk } from "../shared/toChunk.ts"
import { withoutKey } from "./withoutKey.ts"
import type { Call, ProviderOptions, WireFormat } from "../shared/WireFormat.ts"

/** Makes a provider that speaks `api`. Interrupting a call closes its connection. */
export const makeHttpProvider = Effect.fnUntraced(function* (
  api: ProviderApi,
  options: ProviderOptions,
): Effect.fn.Return<Provider, never, ProviderHttp> {
  const { post } = yield* ProviderHttp
  const format = api.wireFormat(options)
  const limits: Limits = { ...LIMITS, ...options.limits }

  const chatCall = Effect.fnUntraced(function* (asked: Pick<ChatRequest, "model" | "n">, stream: boolean) {
    const call: Call = {
      model: asked.model ?? options.defaultModel,
      stream,
      choices: asked.n ?? 1,
      id: `chatcmpl-${(yield* Random.nextIntBetween(0, Number.MAX_SAFE_INTEGER)).toString(36)}`,
      created: Math.floor((yield* Clock.currentTimeMillis) / 1000),
    }
    return call
  })

  const prepare = Effect.fnUntraced(function* (asked: ChatRequest, stream: boolean) {
    const call = yield* chatCall(asked, stream)
    const unsupported = new Unsupported()
    const request = format.request(withTools(asked, format.singleToolCall, unsupported), call, unsupported)
    if (unsupported.failure !== undefined) return yield* unsupported.failure
    return { call, request }
  })

  const execute = Effect.fnUntraced(function* (request: ProviderRequest, stream: boolean, watch?: StreamWatch) {
    const headers = {
      ...request.headers,
      "content-type": "application/json",
      // By this, a connector recognizes the proxy that it seals to, if that calls it.
      "user-agent": SOFTWARE,
      accept: stream ? "text/event-stream" : "application/json",
      // Compression would delay streams, and save little of other answers.
      "accept-encoding": "identity",
    }
    const response = yield* Effect.mapError(post({ ...request, headers }), unanswered)
    if (response.status > 299) return yield* refused(request, response, limits)
    return yield* openBody(response, limits.responseBytes, watch)
  })

  /**
   * The whole answer in a body. Some servers report an error with a status of success, and some send an array of what
   * would have been events, with an error behind the beginning of an answer.
   */
  const completionOf = ({ retryAfterMs, value }: JsonBody, call: Call) => {
    const parts: ReadonlyArray<unknown> = Array.isArray(value) ? value : [value]
    const failed = parts.findIndex(reportsError)
    if (failed === -1) return format.completion(value, call)
    const reader = format.reader(call)
    for (const part of parts.slice(0, failed)) if (Predicate.isReadonlyObject(part)) reader.read(part, "")
    return Result.fail(withUsage(failureOfEvent(parts[failed], retryAfterMs), reader.usage))
  }

  const chat = Effect.fnUntraced(function* (request: ProviderRequest, call: Call) {
    const body = yield* execute(request, false)
    return body._tag === "Json"
      ? yield* Effect.fromResult(completionOf(body, call))
      : accumulate(yield* Stream.runCollect(eventChunks(body.texts, format.reader(call), limits)))
  })

  const chatChunks = (request: ProviderRequest, call: Call, watch: StreamWatch | undefined) => {
    const whole = (body: JsonBody) => Result.flatMap(completionOf(body, call), toChunk)
    return chunkStream(execute(request, true, watch), whole, format.reader(call), limits, watch)
  }

  const nativeApis = ({ names, request }: NonNullable<WireFormat["native"]>): NativeApis => ({
    names,
    complete: Effect.fnUntraced(
      function* (asked) {
        const { api, body, model } = asked
        if (api !== CHAT_COMPLETIONS) {
          return yield* Effect.fromResult(passedAnswer(api, model, yield* execute(request(asked, false), false)))
        }
        const completion = yield* chat(request(asked, false), yield* chatCall({ model, n: choicesIn(body) }, false))
        return { json: iJsonOf(completion), said: saidIn(completion) }
      },
      Effect.mapError(withoutKey(options.apiKey)),
      Effect.scoped,
    ),
    stream: (asked, watch) =>
      Stream.unwrap(
        Effect.map(
          chatCall({ model: asked.model, n: choicesIn(asked.body) }, true),
          (call): Stream.Stream<JsonObject, ProviderFailure> => {
            const { api } = asked
            const sent = request(asked, true)
            if (api === CHAT_COMPLETIONS) return chatChunks(sent, call, watch)
            const whole = (body: JsonBody) => Result.fail(noStream(body))
            return chunkStream(execute(sent, true, watch), whole, new PassingReader(api), limits, watch)
          },
        ),
      ).pipe(Stream.mapError(withoutKey(options.apiKey))),
  })

  return {
    id: options.id,
    apiName: format.name,
    defaultModel: options.defaultModel,
    complete: Effect.fnUntraced(
      function* (asked) {
        const { call, request } = yield* prepare(asked, false)
        const completion = yield* chat(request, call)
        return usesFunctions(asked) ? legacyCompletion(completion) : completion
      },
      Effect.mapError(withoutKey(options.apiKey)),
      Effect.scoped,
    ),
    stream: (asked, watch) =>
      Stream.unwrap(
        Effect.map(prepare(asked, true), ({ call, request }) => {
          const chunks = chatChunks(request, call, watch)
          return usesFunctions(asked) ? Stream.map(chunks, legacyChunk) : chunks
        }),
      ).pipe(Stream.mapError(withoutKey(options.apiKey))),
    ...(format.native === undefined ? {} : { native: nativeApis(format.native) }),
  }
})

/** How many answers a chat asks for. */
const choicesIn = (body: RawObject): number | null => {
  const n = body.value("n")
  return typeof n === "number" ? n : null
}

/** The error codes of undici and of the system for a connection that took too long. */
const CONNECT_TIMEOUT_CODES: ReadonlySet<string> = new Set(["UND_ERR_CONNECT_TIMEOUT", "ETIMEDOUT"])

/** The error codes for a connection that broke, or did not carry HTTP: its server can be reached. */
const BROKEN = /^(ECONNRESET|EPIPE|UND_ERR_SOCKET|HPE_\w+)$/

/** A call that got no response. */
const unanswered = (error: ConnectionFailed): ProviderFailure => {
  const { code } = error
  const late = code !== undefined && CONNECT_TIMEOUT_CODES.has(code)
  const broken = code === undefined || BROKEN.test(code)
  return failure(late ? "connect-timeout" : broken ? "unavailable" : "unreachable", withCode("no answer", error))
}

/** The failure for a response without success. */
const refused = Effect.fnUntraced(function* (
  request: ProviderRequest,
  response: ProviderResponse,
  limits: Limits,
): Effect.fn.Return<never, ProviderFailure, Scope.Scope> {
  if (response.status < 400) return yield* failure("redirected", whereTo(request, response))
  const text = yield* someText(response, limits.errorBytes)
  const after = retryAfterMs(response.headers, yield* Clock.currentTimeMillis)
  const html = PAGE_TYPE.test(response.headers["content-type"] ?? "")
  const value = answerJson(text)
  const body = value === undefined && !html && text !== "" ? { error: text } : value
  const found = failureOfResponse(response.status, body, after)
  return yield* html && failureRules[found.kind].verdict ? garbage(`a page with status ${response.status}`) : found
})

/**
 * The target of a redirect. It is not followed, because keys and prompts go only where the operator sends them. The
 * text names its host, but nothing else of the URL, which may contain secrets.
 */
const whereTo = (request: ProviderRequest, { headers, status }: ProviderResponse): string => {
  const { location } = headers
  const from = URL.parse(request.url)
  const to = location === undefined ? null : URL.parse(location, request.url)
  const where = !to?.host ? "no address" : to.host === from?.host ? "another address of the same host" : to.host
  return `a redirect (status ${status}) to ${where}`
}
