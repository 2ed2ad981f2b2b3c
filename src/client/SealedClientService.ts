/** The sealed client for programs in Effect: the same client as a service, with its errors in the error channel. */
import { Context, Data, Effect, Layer, Stream } from "effect"
import type { ChatInput } from "../domain/chat.ts"
import { SealgateError } from "./errors.ts"
import { type RequestOptions, SealedClient, type SealedClientOptions, type SealedCompletion } from "./SealedClient.ts"
import type { StreamEnd } from "./SealedStream.ts"
import type { StreamPart } from "./streamParts.ts"

/** A request that did not come to a verified end; `reason` is one of the client's own errors. */
export class SealedClientError extends Data.TaggedError("SealedClientError")<{ readonly reason: SealgateError }> {
  override get message(): string {
    return this.reason.message
  }
}

type Options = Omit<RequestOptions, "signal">

/** What the last element of a stream carries. */
export type StreamElement = StreamPart | { readonly type: "end"; readonly end: StreamEnd }

export class SealedClientService extends Context.Service<
  SealedClientService,
  {
    readonly complete: (input: ChatInput, options?: Options) => Effect.Effect<SealedCompletion, SealedClientError>
    /** Verified parts, then the verified end; interrupting it hangs up. */
    readonly stream: (input: ChatInput, options?: Options) => Stream.Stream<StreamElement, SealedClientError>
  }
>()("sealgate/client/SealedClientService") {
  static readonly layer = (options: SealedClientOptions): Layer.Layer<SealedClientService> =>
    Layer.sync(SealedClientService, () => {
      const client = new SealedClient(options)
      return SealedClientService.of({
        complete: (input, options) => attempt((signal) => client.complete(input, { ...options, signal })),
        stream: (input, options) =>
          Stream.unwrap(
            Effect.gen(function* () {
              const controller = yield* Effect.acquireRelease(
                Effect.sync(() => new AbortController()),
                (controller) => Effect.sync(() => controller.abort()),
              )
              const { signal } = controller
              const stream = yield* attempt(() => client.stream(input, { ...options, signal }))
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
          ),
      })
    })
}

// Anything else than the client's own errors is a defect of the client, or the interruption's abort.
const toError = (error: unknown): SealedClientError => {
  if (error instanceof SealgateError) return new SealedClientError({ reason: error })
  throw error
}

const attempt = <A>(run: (signal: AbortSignal) => Promise<A>): Effect.Effect<A, SealedClientError> =>
  Effect.tryPromise({ try: run, catch: toError })
