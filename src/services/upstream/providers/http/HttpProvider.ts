/** A provider that is called over HTTP: one call is one request, without retries, time limits or failover. */
import { Clock, Context, Effect, Predicate, Random, Result, type Scope, Stream } from "effect"
import { type ApiName, CHAT_COMPLETIONS } from "../../../../domain/upstream/apis.ts"
import type { ChatCompletion, ChatRequest } from "../../../../domain/chat/chat.ts"
import { accumulate } from "../../../../domain/chat/chatStream.ts"
import { isObject, type JsonObject } from "../../../../domain/json/json.ts"
import type { RawObject } from "../../../../domain/json/rawObject.ts"
import { iJsonOf } from "../../../../domain/json/surrogates.ts"
import { SOFTWARE } from "../../../../domain/operations/software.ts"
import { saidIn } from "../../answerReaders/ChatReading.ts"
import { PassingReader } from "../../answerReaders/PassingReader.ts"
import { type NativeApis, type NativeCall, type Provider, ProviderFailure, type StreamWatch } from "../../Provider.ts"
import type { ProviderRequest } from "../../HttpExchange.ts"
import { ProviderHttp } from "../../ProviderHttp.ts"
import { reportsError } from "./ErrorBody.ts"
import { chunkStream, eventPieces } from "./chunkStream.ts"
import type { ProviderFormat } from "../shared/Descriptor.ts"
import { failure, garbage, withUsage } from "../shared/providerFailures.ts"
import { failureOfEvent } from "./errorFailures.ts"
import { refused, unanswered } from "./failedCalls.ts"
import { LIMITS, type Limits } from "../shared/Limits.ts"
import { noStream, passedAnswer } from "./passedAnswer.ts"
import { type AnswerLimit, type JsonBody, openBody } from "./ResponseBody.ts"
import { Unsupported } from "../shared/Unsupported.ts"
import { toChunk } from "../shared/toChunk.ts"
import { withoutKey } from "./withoutKey.ts"
import type { AnswerDefaults, ProviderOptions, WireFormat } from "../shared/WireFormat.ts"

interface Caller {
  readonly post: ProviderHttp["Service"]["post"]
  readonly format: WireFormat
  readonly limits: Limits
  readonly defaultModel: string
  readonly headers: Readonly<Record<string, string>>
  /** Removes the key from a failure. */
  readonly clean: (failure: ProviderFailure) => ProviderFailure
}

/** Makes a provider that speaks `providerFormat`. Interrupting a call closes its connection. */
export const makeHttpProvider = (
  providerFormat: ProviderFormat,
  options: ProviderOptions,
): Effect.Effect<Provider, never, ProviderHttp> =>
  Effect.map(ProviderHttp, ({ post }) => ({
    ...providerWith(post, providerFormat, options, withoutKey(options.apiKey)),
    ownKeys: {
      required: options.tenantKeys === true,
      withKey: (apiKey) =>
        providerWith(post, providerFormat, { ...options, apiKey }, (failure) => ofTenant(withoutKey(apiKey)(failure))),
    },
  }))

/** Only the tenant, not the operator, can fix a refusal of the tenant's own key. */
const ofTenant = (failure: ProviderFailure): ProviderFailure =>
  failure.kind === "unauthorized" ? new ProviderFailure({ ...failure, kind: "key-refused" }) : failure

const providerWith = (
  post: Caller["post"],
  providerFormat: ProviderFormat,
  options: ProviderOptions,
  clean: Caller["clean"],
): Provider => {
  const caller: Caller = {
    post,
    format: providerFormat.wireFormat(options),
    limits: { ...LIMITS, ...options.limits },
    defaultModel: options.defaultModel,
    headers: options.headers ?? {},
    clean,
  }
  const { format, limits } = caller
  return {
    id: options.id,
    apiName: format.name,
    defaultModel: options.defaultModel,
    complete: (asked) =>
      chatCall(caller, asked, false).pipe(
        Effect.flatMap((call) => Effect.flatMap(translated(format, asked, call), (sent) => chat(caller, sent, call))),
        Effect.mapError(clean),
        Effect.scoped,
      ),
    stream: (asked, watch) =>
      chunkStream(
        Effect.flatMap(chatCall(caller, asked, true), (call) =>
          chatAnswer(caller, translated(format, asked, call), call, watch),
        ),
        { limits, watch, clean },
      ),
    ...(format.native === undefined ? {} : { native: nativeApis(caller, format.native) }),
  }
}

/** The APIs that the provider speaks itself, so that requests go to it as they were sent. */
const nativeApis = (caller: Caller, { names, request }: NonNullable<WireFormat["native"]>): NativeApis => ({
  names,
  complete: (asked) => {
    const { api } = asked
    const sent = request(asked, false)
    const answer =
      api === CHAT_COMPLETIONS
        ? nativeCall(caller, asked, false).pipe(
            Effect.flatMap((call) => chat(caller, sent, call)),
            Effect.map((completion) => ({ json: iJsonOf(completion), said: saidIn(completion) })),
          )
        : Effect.flatMap(execute(caller, api, sent, false), (found) =>
            Effect.fromResult(passedAnswer(api, asked, found)),
          )
    return Effect.scoped(Effect.mapError(answer, caller.clean))
  },
  stream: (asked, watch): Stream.Stream<JsonObject, ProviderFailure> => {
    const { clean, limits } = caller
    const { api } = asked
    if (api === CHAT_COMPLETIONS) {
      const call = nativeCall(caller, asked, true)
      const sent = Effect.sync(() => request(asked, true))
      return chunkStream(
        Effect.flatMap(call, (call) => chatAnswer(caller, sent, call, watch)),
        { limits, watch, clean },
      )
    }
    const answer = Effect.map(execute(caller, api, request(asked, true), true, watch), (body) => ({
      body,
      reader: new PassingReader(api),
      whole: (body: JsonBody) => Result.fail(noStream(body)),
    }))
    return chunkStream(answer, { limits, watch, clean })
  },
})

/** The request decides the length of embeddings, so long ones are no fault of the provider. */
export const limitOf = (api: ApiName, limits: Limits): AnswerLimit =>
  api === "embeddings"
    ? {
        bytes: limits.embeddingsBytes,
        exceeded: (reason) => failure("oversized", `${reason}; send fewer inputs, or ask for base64`, { reason }),
      }
    : { bytes: limits.responseBytes, exceeded: garbage }

/** Sends `request` and opens the body of a successful response. */
const execute = (
  { headers: own, limits, post }: Caller,
  api: ApiName,
  request: ProviderRequest,
  stream: boolean,
  watch?: StreamWatch,
) => {
  const { body, url } = request
  const headers = { ...own, ...request.headers, ...(stream ? ASKING_FOR_EVENTS : ASKING_FOR_JSON) }
  return Effect.flatMap(Effect.mapError(post({ url, headers, body }), unanswered), (response) =>
    response.status > 299 ? refused(request, response, limits) : openBody(response, limitOf(api, limits), watch),
  )
}

/** Sends a chat and reads its whole answer, which some servers stream although nobody asked for a stream. */
const chat = (
  caller: Caller,
  request: ProviderRequest,
  call: AnswerDefaults,
): Effect.Effect<ChatCompletion, ProviderFailure, Scope.Scope> =>
  Effect.flatMap(execute(caller, CHAT_COMPLETIONS, request, false), (body) => {
    const { clean, format, limits } = caller
    if (body._tag === "Json") return Effect.fromResult(completionOf(format, body, call))
    const chunks = Stream.fromPull(Effect.succeed(eventPieces(body.texts, format.reader(call), { limits, clean })))
    return Effect.map(Stream.runCollect(chunks), accumulate)
  })

const chatAnswer = (
  caller: Caller,
  request: Effect.Effect<ProviderRequest, ProviderFailure>,
  call: AnswerDefaults,
  watch: StreamWatch | undefined,
) => {
  const { format } = caller
  const opened = Effect.flatMap(request, (sent) => execute(caller, CHAT_COMPLETIONS, sent, true, watch))
  const again = (found: ProviderFailure) => (format.learn?.(found, call) === true ? opened : Effect.fail(found))
  return Effect.map(Effect.catch(opened, again), (body) => ({
    body,
    reader: format.reader(call),
    whole: (body: JsonBody) => Result.flatMap(completionOf(format, body, call), toChunk),
  }))
}

/**
 * Reads the whole answer in a body. Some servers report an error with a success status. Some send an array of what
 * would have been events, where an error may follow the beginning of an answer.
 */
const completionOf = (format: WireFormat, { retryAfterMs, value }: JsonBody, call: AnswerDefaults) => {
  const parts: ReadonlyArray<unknown> = Array.isArray(value) ? value : [value]
  const failed = parts.findIndex(reportsError)
  if (failed === -1) return format.completion(value, call)
  const reader = format.reader(call)
  for (const part of parts.slice(0, failed)) if (Predicate.isReadonlyObject(part)) reader.read(part, "")
  return Result.fail(withUsage(failureOfEvent(parts[failed], retryAfterMs), reader.usage))
}

/** Translates a request into the provider's format, unless the format cannot express it. */
const translated = (
  format: WireFormat,
  asked: ChatRequest,
  call: AnswerDefaults,
): Effect.Effect<ProviderRequest, ProviderFailure> =>
  Effect.suspend(() => {
    const unsupported = new Unsupported()
    const request = format.request(asked, call, unsupported)
    return unsupported.failure === undefined ? Effect.succeed(request) : Effect.fail(unsupported.failure)
  })

const chatCall = (
  { defaultModel }: Caller,
  asked: Pick<ChatRequest, "model" | "n" | "stream_options">,
  stream: boolean,
): Effect.Effect<AnswerDefaults> =>
  Effect.map(Effect.context<never>(), (context) => ({
    model: asked.model ?? defaultModel,
    stream,
    choices: asked.n ?? 1,
    options: asked.stream_options ?? {},
    id: `chatcmpl-${Math.floor(Context.get(context, Random.Random).nextDoubleUnsafe() * IDS).toString(36)}`,
    created: Math.floor(Context.get(context, Clock.Clock).currentTimeMillisUnsafe() / 1000),
  }))

const nativeCall = (caller: Caller, { body, model }: NativeCall, stream: boolean): Effect.Effect<AnswerDefaults> => {
  const options = body.value("stream_options")
  return chatCall(caller, { model, n: choicesIn(body), stream_options: isObject(options) ? options : null }, stream)
}

/** The number of possible ids for answers that come without one. */
const IDS = Number.MAX_SAFE_INTEGER

const ASKING = {
  "content-type": "application/json",
  // A connector recognizes by this that the proxy it seals to is calling it.
  "user-agent": SOFTWARE,
  // Compression would delay streams and save little elsewhere.
  "accept-encoding": "identity",
}
const ASKING_FOR_JSON = { ...ASKING, accept: "application/json" }
const ASKING_FOR_EVENTS = { ...ASKING, accept: "text/event-stream" }

const choicesIn = (body: RawObject): number | null => {
  const n = body.value("n")
  return typeof n === "number" ? n : null
}
