/** Asks a target: in Chat Completions, or as the caller wrote the request if the target speaks its API. */
import { Effect, Redacted, Stream } from "effect"
import { CHAT_COMPLETIONS } from "../../domain/upstream/apis.ts"
import type { ChatChunk, ChatCompletion, ChatRequest } from "../../domain/chat/chat.ts"
import { withoutMessageState } from "../../domain/chat/messageState.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import { iJsonOf } from "../../domain/json/surrogates.ts"
import { sameTarget, type TargetName } from "../../domain/upstream/targets.ts"
import type { ApiRequest, UpstreamRequest } from "../../domain/upstream/upstream.ts"
import { streamReading } from "./answerReaders/readings.ts"
import type { AnswerReading } from "./answerReaders/AnswerReading.ts"
import { ChatReading, saidIn } from "./answerReaders/ChatReading.ts"
import { type NativeApis, type NativeCall, ProviderFailure, type Said, type StreamWatch } from "./Provider.ts"
import { otherTools } from "./otherTools.ts"
import { calledOf, type ModelTarget } from "./Targets.ts"

export interface UpstreamQuestion<Answer, Piece> {
  readonly complete: (target: ModelTarget) => Effect.Effect<readonly [Answer, Said], ProviderFailure>
  readonly stream: (target: ModelTarget, watch: StreamWatch) => Stream.Stream<Piece, ProviderFailure>
  readonly reading: () => AnswerReading<Piece>
}

const withModel = (request: ChatRequest, model: string): ChatRequest =>
  request.model === model ? request : { ...request, model }

/** The request, with state in those messages only that `target` wrote. */
const withOwnState = ({ authors, completion }: UpstreamRequest, target: TargetName): ChatRequest => {
  if (authors === undefined) return completion
  const messages = completion.messages.map((message) => {
    const author = authors.get(message)
    return author === undefined || sameTarget(author, target) ? message : withoutMessageState(message)
  })
  return { ...completion, messages }
}

export const chatQuestion = (asked: UpstreamRequest): UpstreamQuestion<ChatCompletion, ChatChunk> => {
  const to = ({ model, provider }: ModelTarget): ChatRequest => {
    const target = { provider: provider.id, model }
    const request = withOwnState(asked, target)
    return asked.outputLimit === undefined
      ? withModel(request, model)
      : { ...request, model, ...asked.outputLimit(target) }
  }
  return {
    complete: (target) =>
      Effect.map(calledOf(target).complete(to(target)), (answer) => [answer, saidIn(answer)] as const),
    stream: (target, watch) => calledOf(target).stream(to(target), watch),
    reading: () => new ChatReading(),
  }
}

/** A request as its caller wrote it. Targets that do not speak its API get a translation. */
export const apiQuestion = (request: ApiRequest): UpstreamQuestion<string, JsonObject> => {
  const { api, body, headers, outputLimit } = request
  const translated = Effect.suspend(() => {
    const completion = request.completion?.()
    if (completion === undefined) return Effect.die(new Error(`${api} cannot be translated.`))
    return Effect.mapError(
      Effect.fromResult(completion),
      (errors) => otherTools(body) ?? new ProviderFailure({ kind: "malformed", errors: Redacted.make(errors) }),
    )
  })
  const native = (target: ModelTarget): { readonly apis: NativeApis; readonly call: NativeCall } | undefined => {
    const apis = calledOf(target).native
    if (apis?.names.has(api) !== true) return undefined
    const { model, provider } = target
    return { apis, call: { api, body, headers, model, limit: outputLimit?.({ provider: provider.id, model }) } }
  }

  return {
    complete: (target) => {
      const direct = native(target)
      if (direct !== undefined) {
        return Effect.map(direct.apis.complete(direct.call), ({ json, said }) => [json, said] as const)
      }
      return Effect.map(
        Effect.flatMap(translated, (completion) => chatQuestion({ completion, outputLimit }).complete(target)),
        ([answer, said]) => [iJsonOf(answer), said] as const,
      )
    },
    stream: (target, watch): Stream.Stream<JsonObject, ProviderFailure> => {
      const direct = native(target)
      if (direct !== undefined) return direct.apis.stream(direct.call, watch)
      return Stream.unwrap(
        Effect.map(translated, (completion) => chatQuestion({ completion, outputLimit }).stream(target, watch)),
      )
    },
    reading: () =>
      api === CHAT_COMPLETIONS
        ? // The readers of chats made its pieces, native or translated.
          (new ChatReading() as unknown as AnswerReading<JsonObject>)
        : streamReading(api),
  }
}
