/** Calls to model providers, whatever their wire format and whatever goes wrong on the way. */
import { Context, Effect, Layer, Option, Ref, Stream } from "effect"
import type { ChatChunk, ChatCompletion, Usage } from "../../domain/chat.ts"
import {
  type Completed,
  type ProviderId,
  type Served,
  type StreamEvent,
  UpstreamError,
  type UpstreamRequest,
} from "../../domain/upstream.ts"
import type { Provider } from "./Provider.ts"
import { echo } from "./providers/Echo.ts"

/** A provider's state as `/ready` shows it. `lastSuccess` is in milliseconds since the epoch. */
export interface ProviderStatus {
  readonly provider: ProviderId
  readonly model: string
  readonly circuit: "closed" | "open" | "half-open"
  readonly lastSuccess: Option.Option<number>
}

export class Upstream extends Context.Service<
  Upstream,
  {
    /** One whole answer, and who gave it. */
    readonly complete: (request: UpstreamRequest) => Effect.Effect<Completed, UpstreamError>
    /** A streamed answer; it succeeded only if its last event is `Finished`. */
    readonly stream: (request: UpstreamRequest) => Stream.Stream<StreamEvent, UpstreamError>
    /** Every configured provider, in the order in which requests that name none are offered to them. */
    readonly status: Effect.Effect<ReadonlyArray<ProviderStatus>>
  }
>()("sealgate/services/upstream/Upstream") {
  /** Serves everything from the built-in echo: for the demo, for tests, and when no provider key is set. */
  static readonly layerEcho = Layer.effect(
    Upstream,
    Effect.map(Ref.make(Option.none<number>()), (lastSuccess) => {
      const succeeded = Effect.clockWith((clock) => Ref.set(lastSuccess, Option.some(clock.currentTimeMillisUnsafe())))
      return Upstream.of({
        complete: Effect.fnUntraced(function* (request: UpstreamRequest) {
          const provider = yield* choose(echo, request)
          const completion = yield* Effect.orDie(provider.complete(request.completion))
          yield* succeeded
          return { completion, served: servedBy(provider.id, completion) }
        }),
        stream: (request) =>
          Stream.unwrap(
            Effect.map(choose(echo, request), (provider) => {
              const outcome = new StreamOutcome(provider.id)
              return Stream.orDie(provider.stream(request.completion)).pipe(
                Stream.map((chunk): StreamEvent => ({ _tag: "Delta", chunk: outcome.add(chunk) })),
                Stream.concat(
                  Stream.fromEffect(
                    Effect.map(succeeded, (): StreamEvent => ({ _tag: "Finished", served: outcome.served })),
                  ),
                ),
              )
            }),
          ),
        status: Effect.map(Ref.get(lastSuccess), (lastSuccess) => [
          { provider: echo.id, model: echo.defaultModel, circuit: "closed", lastSuccess } as const,
        ]),
      })
    }),
  )
}

/** Who served a whole answer, read from the answer itself. */
export const servedBy = (provider: ProviderId, completion: ChatCompletion): Served => ({
  provider,
  model: completion.model,
  finishReasons: completion.choices.map((choice) => choice.finish_reason),
  usage: completion.usage ?? null,
})

/** Gathers from the chunks of a stream what {@link servedBy} reads from a whole answer. */
export class StreamOutcome {
  readonly provider: ProviderId
  private model = ""
  private usage: Usage | null = null
  private readonly finishReasons: Array<string> = []

  constructor(provider: ProviderId) {
    this.provider = provider
  }

  /** Takes note of `chunk` and returns it. */
  add(chunk: ChatChunk): ChatChunk {
    this.model = chunk.model
    if (chunk.usage != null) this.usage = chunk.usage
    for (const choice of chunk.choices) {
      if (choice.finish_reason != null) this.finishReasons[choice.index] = choice.finish_reason
    }
    return chunk
  }

  get served(): Served {
    return { provider: this.provider, model: this.model, finishReasons: this.finishReasons.flat(), usage: this.usage }
  }
}

const choose = (only: Provider, request: UpstreamRequest): Effect.Effect<Provider, UpstreamError> =>
  request.provider === undefined || request.provider === only.id
    ? Effect.succeed(only)
    : Effect.fail(new UpstreamError({ code: "provider-not-configured", provider: request.provider }))
