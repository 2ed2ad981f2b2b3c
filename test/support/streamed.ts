/** Streamed answers of an upstream as Effect streams, and streams as streamed answers. */
import { Effect, Queue, Stream } from "effect"
import type { ChatChunk } from "../../src/domain/chat/chat.ts"
import type { JsonObject } from "../../src/domain/json/json.ts"
import {
  type ApiRequest,
  type Emit,
  type Streamed,
  type StreamEvent,
  UpstreamError,
  type UpstreamRequest,
} from "../../src/domain/upstream/upstream.ts"
import type { Upstream } from "../../src/services/upstream/Upstream.ts"

/** An event of a streamed answer, or its successful end. */
export type StreamedEvent<Piece = ChatChunk> = StreamEvent<Piece> | Finished

/** The same, of a request as its sender wrote it. */
export type ApiStreamedEvent = StreamedEvent<JsonObject>

export interface Finished extends Streamed {
  readonly _tag: "Finished"
}

type Ask<Piece> = (emit: Emit<Piece>) => Effect.Effect<Streamed, UpstreamError>

const read = <Piece>(ask: Ask<Piece>): Stream.Stream<StreamedEvent<Piece>, UpstreamError> =>
  Stream.callback(
    (queue) =>
      ask((events) => Queue.offerAll(queue, events)).pipe(
        Effect.flatMap((streamed) => Queue.offer(queue, { _tag: "Finished", ...streamed })),
        Effect.andThen(Queue.end(queue)),
      ),
    { bufferSize: 4 },
  )

/** Asks for a streamed answer to a chat. The provider waits for a slow reader. */
export const streamOf = (upstream: Upstream["Service"], request: UpstreamRequest) =>
  read<ChatChunk>((emit) => upstream.streamTo(request, emit))

/** The same, for a request as its sender wrote it. */
export const apiStreamOf = (upstream: Upstream["Service"], request: ApiRequest) =>
  read<JsonObject>((emit) => upstream.requestStreamTo(request, emit))

/** Answers with a stream that ends with `Finished`, or fails. */
export const streaming =
  <Request, Piece>(answer: (request: Request) => Stream.Stream<StreamedEvent<Piece>, UpstreamError>) =>
  (request: Request, emit: Emit<Piece>): Effect.Effect<Streamed, UpstreamError> =>
    Effect.suspend(() => {
      let finished: Streamed | undefined
      return Stream.runForEachArray(answer(request), (all) => {
        const events = all.filter((event) => event._tag !== "Finished")
        finished = all.find((event) => event._tag === "Finished")
        return emit(events)
      }).pipe(Effect.flatMap(() => (finished === undefined ? TRUNCATED : Effect.succeed(finished))))
    })

const TRUNCATED = Effect.fail(new UpstreamError({ code: "upstream-truncated" }))
