/** Answers calls of models, whole or streamed. */
import { Effect, Option, Pull, Stream, Tracer } from "effect"
import { HttpServerResponse } from "effect/http"
import { problemAnswer } from "../../../client/sdk/errorAnswer.ts"
import { EventWriter, isUsageAlone } from "../../../client/sdk/eventStream.ts"
import type { Vendor } from "../../../client/sdk/vendors/Vendor.ts"
import { isObject, type JsonObject } from "../../../domain/json/json.ts"
import { requestTraceId } from "../../../domain/operations/traceContext.ts"
import { type ApiName, CHAT_COMPLETIONS } from "../../../domain/upstream/apis.ts"
import type { ApiRequest } from "../../../domain/upstream/upstream.ts"
import { COMMENT, eventStreamResponse, renderEvent } from "../../shared/EventStream.ts"
import { type CallError, callProblem } from "./vendorErrors.ts"

/** The request's id, under which the operator finds its trace. */
export const requestId = ({ requestIdHeader }: Vendor): Effect.Effect<Readonly<Record<string, string>>> =>
  Effect.map(Effect.serviceOption(Tracer.ParentSpan), (span) => {
    const id = requestTraceId(Option.getOrUndefined(span))
    return id === undefined ? {} : { [requestIdHeader]: id }
  })

export const wholeAnswer = (json: string): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(json, { contentType: "application/json" })

/** A stream of one API, and whether it includes chunks with token counts only. */
interface StreamForm {
  readonly api: ApiName
  readonly withUsage: boolean
}

/** OpenAI sends a chunk with token counts only if asked. */
export const streamFormOf = ({ api, body }: Pick<ApiRequest, "api" | "body">): StreamForm => {
  const options = api === CHAT_COMPLETIONS ? body.value("stream_options") : undefined
  return { api, withUsage: api !== CHAT_COMPLETIONS || (isObject(options) && options["include_usage"] === true) }
}

/** Anthropic's keep-alive: readers of its API see no comments, and may give up on a stream that seems silent. */
const PING = renderEvent("ping", '{"type": "ping"}')

/** Answers once the first piece has come, so that an earlier failure gets a status. A later failure is the last event. */
export const streamedAnswer = Effect.fnUntraced(function* <E extends CallError>(
  { api, withUsage }: StreamForm,
  pieces: Stream.Stream<JsonObject, E>,
) {
  const pull = yield* Stream.toPull(pieces)
  const none: ReadonlyArray<JsonObject> = []
  const first = yield* Pull.catchDone(pull, () => Effect.succeed(none))
  const writer = new EventWriter(api)
  const span = yield* Effect.serviceOption(Tracer.ParentSpan)
  const lastWords = (error: E) =>
    callProblem(error).pipe(
      Effect.provideService(Tracer.ParentSpan, Option.getOrThrow(span)),
      Effect.map((problem) => writer.lastWords(problemAnswer(problem, problem.retry_after_ms))),
    )
  const texts = Stream.concat(Stream.fromArray(first), Stream.fromPull(Effect.succeed(pull))).pipe(
    Stream.filter((piece) => withUsage || !isUsageAlone(piece)),
    Stream.map((piece) => writer.render(piece)),
    Stream.concat(Stream.fromEffect(Effect.sync(() => writer.sentinel))),
    Stream.catch((error) => Stream.fromEffect(lastWords(error))),
  )
  return eventStreamResponse(texts, api === "messages" ? PING : COMMENT)
})
