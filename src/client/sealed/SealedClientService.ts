/** The sealed client for programs in Effect: the same client as a service, with its errors in the error channel. */
import { Context, Data, Effect, Layer, Stream } from "effect"
import type { ApiName } from "../../domain/upstream/apis.ts"
import type { ChatChunk, ChatInput } from "../../domain/chat/chatTypes.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import { clientError } from "../clientError.ts"
import type { SealgateError } from "../errors.ts"
import type { ChatEnd } from "./joins.ts"
import {
  type RequestBody,
  type RequestOptions,
  type SealedAnswer,
  SealedClient,
  type SealedClientOptions,
  type SealedCompletion,
} from "./SealedClient.ts"
import type { SealedStream, StreamEnd } from "./SealedStream.ts"
import type { StreamPart } from "./streamParts.ts"

/** A request without a verified end; `reason` is the client's error. */
export class SealedClientError extends Data.TaggedError("SealedClientError")<{ readonly reason: SealgateError }> {
  override get message(): string {
    return this.reason.message
  }
}

type Options = Omit<RequestOptions, "signal">

/** The last element of a stream. */
export type StreamElement<Chunk = ChatChunk, End = ChatEnd> =
  | StreamPart<Chunk>
  | { readonly type: "end"; readonly end: End }

export class SealedClientService extends Context.Service<
  SealedClientService,
  {
    readonly complete: (input: ChatInput, options?: Options) => Effect.Effect<SealedCompletion, SealedClientError>
    /** Streams verified parts, then the verified end. Interruption hangs up. */
    readonly stream: (input: ChatInput, options?: Options) => Stream.Stream<StreamElement, SealedClientError>
    /** `complete` and `stream` for any API. */
    readonly request: (
      api: ApiName,
      body: RequestBody,
      options?: Options,
    ) => Effect.Effect<SealedAnswer, SealedClientError>
    readonly requestStream: (
      api: ApiName,
      body: RequestBody,
      options?: Options,
    ) => Stream.Stream<StreamElement<JsonObject, StreamEnd>, SealedClientError>
  }
>()("sealgate/client/SealedClientService") {
  static readonly layer = (options: SealedClientOptions): Layer.Layer<SealedClientService> =>
    Layer.sync(SealedClientService, () => {
      const client = new SealedClient(options)
      return SealedClientService.of({
        complete: (input, options) => attempt((signal) => client.complete(input, { ...options, signal })),
        stream: (input, options) => streamOf((signal) => client.stream(input, { ...options, signal })),
        request: (api, body, options) => attempt((signal) => client.request(api, body, { ...options, signal })),
        requestStream: (api, body, options) =>
          streamOf((signal) => client.requestStream(api, body, { ...options, signal })),
      })
    })
}

// Other errors are defects of the client, or the abort of an interruption.
const toError = (error: unknown) => new SealedClientError({ reason: clientError(error) })

const attempt = <A>(run: (signal: AbortSignal) => Promise<A>): Effect.Effect<A, SealedClientError> =>
  Effect.tryPromise({ try: run, catch: toError })

const streamOf = <Chunk extends JsonObject, End extends StreamEnd>(
  open: (signal: AbortSignal) => Promise<SealedStream<Chunk, End>>,
): Stream.Stream<StreamElement<Chunk, End>, SealedClientError> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const controller = yield* Effect.acquireRelease(
        Effect.sync(() => new AbortController()),
        (controller) => Effect.sync(() => controller.abort()),
      )
      const stream = yield* attempt(() => open(controller.signal))
      return Stream.fromAsyncIterable(stream, toError).pipe(
        Stream.concat(
          Stream.fromEffect(
            Effect.map(
              attempt(() => stream.end),
              (end) => ({ type: "end" as const, end }),
            ),
          ),
        ),
      )
    }),
  )
