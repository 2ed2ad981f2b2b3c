/** A provider that is called over HTTP: one call is one request, without retries, time limits or failover. */
import { Clock, Context, Effect, Predicate, Random, Result, type Scope, Stream } from "effect"
import { CHAT_COMPLETIONS } from "../../../../domain/upstream/apis.ts"
import type { ChatCompletion, ChatRequest } from "../../../../domain/chat/chat.ts"
import { failureRules } from "../../../../domain/upstream/failures.ts"
import { accumulate } from "../../../../domain/chat/chatStream.ts"
import type { JsonObject } from "../../../../domain/json/json.ts"
import type { RawObject } from "../../../../domain/json/rawObject.ts"
import { connectionReason, lastsUntilMended } from "../../../../domain/problems/systemErrors.ts"
import { iJsonOf } from "../../../../domain/json/surrogates.ts"
import { SOFTWARE } from "../../../../domain/operations/software.ts"
import { saidIn } from "../../answerReaders/ChatReading.ts"
import { PassingReader } from "../../answerReaders/PassingReader.ts"
import type { NativeApis, Provider, ProviderFailure, StreamWatch } from "../../Provider.ts"
import type { ConnectionFailed, ProviderRequest, ProviderResponse } from "../../HttpExchange.ts"
import { MAX_RESPONSE_HEADER_BYTES, ProviderHttp } from "../../ProviderHttp.ts"
import { answerJson } from "./answerJson.ts"
import { reportsError } from "./ErrorBody.ts"
import { chunkStream, eventPieces } from "./chunkStream.ts"
import type { ProviderFormat } from "../shared/Descriptor.ts"
import { failure, garbage, withUsage } from "../shared/providerFailures.ts"
import { failureOfEvent, failureOfResponse } from "./errorFailures.ts"
import { LIMITS, type Limits } from "../shared/Limits.ts"
import { noStream, passedAnswer } from "./passedAnswer.ts"
import { type JsonBody, openBody, PAGE_TYPE, someText } from "./ResponseBody.ts"
import { retryAfterNow } from "./RetryAfter.ts"
import { Unsupported } from "../shared/Unsupported.ts"
import { withCode } from "./brokenConnection.ts"
import { toChunk } from "../shared/toChunk.ts"
import { withoutKey } from "./withoutKey.ts"
import type { Call, ProviderOptions, WireFormat } from "../shared/WireFormat.ts"

/** Makes a provider that speaks `providerFormat`. Interrupting a call closes its connection. */
export const makeHttpProvider = Effect.fnUntraced(function* (
  providerFormat: ProviderFormat,
  options: ProviderOptions,
): Effect.fn.Return<Provider, never, ProviderHttp> {
  const { post } = yield* ProviderHttp
  const format = providerFormat.wireFormat(options)
  const limits: Limits = { ...LIMITS, ...options.limits }

  const clean = withoutKey(options.apiKey)

  const chatCall = (asked: Pick<ChatRequest, "model" | "n">, stream: boolean): Effect.Effect<Call> =>
    Effect.map(Effect.context<never>(), (context) => ({
      model: asked.model ?? options.defaultModel,
      stream,
      choices: asked.n ?? 1,
      id: `chatcmpl-${Math.floor(Context.get(context, Random.Random).nextDoubleUnsafe() * IDS).toString(36)}`,
      created: Math.floor(Context.get(context, Clock.Clock).currentTimeMillisUnsafe() / 1000),
    }))

  const execute = (request: ProviderRequest, stream: boolean, watch?: StreamWatch) => {
    const { body, url } = request
    const headers = { ...request.headers, ...(stream ? ASKING_FOR_EVENTS : ASKING_FOR_JSON) }
    return Effect.flatMap(Effect.mapError(post({ url, headers, body }), unanswered), (response) =>
      response.status > 299 ? refused(request, response, limits) : openBody(response, limits.responseBytes, watch),
    )
  }

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

  const chat = (request: ProviderRequest, call: Call): Effect.Effect<ChatCompletion, ProviderFailure, Scope.Scope> =>
    Effect.flatMap(execute(request, false), (body) => {
      if (body._tag === "Json") return Effect.fromResult(completionOf(body, call))
      const chunks = Stream.fromPull(Effect.succeed(eventPieces(body.texts, format.reader(call), { limits, clean })))
      return Effect.map(Stream.runCollect(chunks), accumulate)
    })

  /** The streamed answer to a chat. */
  const chatAnswer = (request: ProviderRequest, call: Call, watch: StreamWatch | undefined) =>
    Effect.map(execute(request, true, watch), (body) => ({
      body,
      reader: format.reader(call),
      whole: (body: JsonBody) => Result.flatMap(completionOf(body, call), toChunk),
    }))

  /** What is sent for a request of this product's own, unless it cannot be expressed. */
  const translated = (asked: ChatRequest, call: Call): Effect.Effect<ProviderRequest, ProviderFailure> => {
    const unsupported = new Unsupported()
    const request = format.request(asked, call, unsupported)
    return unsupported.failure === undefined ? Effect.succeed(request) : Effect.fail(unsupported.failure)
  }

  const nativeApis = ({ names, request }: NonNullable<WireFormat["native"]>): NativeApis => ({
    names,
    complete: (asked) => {
      const { api, body, model } = asked
      const answer =
        api === CHAT_COMPLETIONS
          ? Effect.map(
              Effect.flatMap(chatCall({ model, n: choicesIn(body) }, false), (call) =>
                chat(request(asked, false), call),
              ),
              (completion) => ({ json: iJsonOf(completion), said: saidIn(completion) }),
            )
          : Effect.flatMap(execute(request(asked, false), false), (body) =>
              Effect.fromResult(passedAnswer(api, model, body)),
            )
      return Effect.scoped(Effect.mapError(answer, clean))
    },
    stream: (asked, watch): Stream.Stream<JsonObject, ProviderFailure> => {
      const { api, body, model } = asked
      const sent = request(asked, true)
      if (api === CHAT_COMPLETIONS) {
        const call = chatCall({ model, n: choicesIn(body) }, true)
        return chunkStream(
          Effect.flatMap(call, (call) => chatAnswer(sent, call, watch)),
          { limits, watch, clean },
        )
      }
      return chunkStream(
        Effect.map(execute(sent, true, watch), (body) => ({
          body,
          reader: new PassingReader(api),
          whole: (body: JsonBody) => Result.fail(noStream(body)),
        })),
        { limits, watch, clean },
      )
    },
  })

  return {
    id: options.id,
    apiName: format.name,
    defaultModel: options.defaultModel,
    complete: (asked) =>
      Effect.flatMap(chatCall(asked, false), (call) =>
        Effect.flatMap(translated(asked, call), (request) => chat(request, call)),
      ).pipe(Effect.mapError(clean), Effect.scoped),
    stream: (asked, watch) =>
      chunkStream(
        Effect.flatMap(chatCall(asked, true), (call) =>
          Effect.flatMap(translated(asked, call), (request) => chatAnswer(request, call, watch)),
        ),
        { limits, watch, clean },
      ),
    ...(format.native === undefined ? {} : { native: nativeApis(format.native) }),
  }
})

/** How many ids there are for answers that come without one. */
const IDS = Number.MAX_SAFE_INTEGER

const ASKING = {
  "content-type": "application/json",
  // By this, a connector recognizes the proxy that it seals to, if that calls it.
  "user-agent": SOFTWARE,
  // Compression would delay streams, and save little of other answers.
  "accept-encoding": "identity",
}
const ASKING_FOR_JSON = { ...ASKING, accept: "application/json" }
const ASKING_FOR_EVENTS = { ...ASKING, accept: "text/event-stream" }

/** How many answers a chat asks for. */
const choicesIn = (body: RawObject): number | null => {
  const n = body.value("n")
  return typeof n === "number" ? n : null
}

/** The error codes of undici and of the system for a connection that took too long. */
const CONNECT_TIMEOUT_CODES: ReadonlySet<string> = new Set(["UND_ERR_CONNECT_TIMEOUT", "ETIMEDOUT"])

/** The error codes for a connection that broke, or did not carry HTTP: its server can be reached. */
const BROKEN = /^(ECONNRESET|EPIPE|UND_ERR_SOCKET|HPE_\w+)$/

/** The error codes for response headers beyond the limit. */
const TOO_LARGE: ReadonlySet<string> = new Set(["UND_ERR_HEADERS_OVERFLOW", "HPE_HEADER_OVERFLOW"])

/** A call that got no response. */
const unanswered = (error: ConnectionFailed): ProviderFailure => {
  const { code } = error
  if (code !== undefined && TOO_LARGE.has(code)) {
    return garbage(`response headers of more than ${MAX_RESPONSE_HEADER_BYTES} bytes`)
  }
  const late = code !== undefined && CONNECT_TIMEOUT_CODES.has(code)
  const broken = code === undefined || BROKEN.test(code)
  return failure(late ? "connect-timeout" : broken ? "unavailable" : "unreachable", withCode("no answer", error), {
    reason: connectionReason(error),
    lasting: lastsUntilMended(error) || undefined,
  })
}

/** The failure for a response without success. */
const refused = Effect.fnUntraced(function* (
  request: ProviderRequest,
  response: ProviderResponse,
  limits: Limits,
): Effect.fn.Return<never, ProviderFailure, Scope.Scope> {
  const reason = `status ${response.status}`
  if (response.status < 400) return yield* failure("redirected", whereTo(request, response), { reason })
  const text = yield* someText(response, limits.errorBytes)
  const after = yield* retryAfterNow(response.headers)
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
