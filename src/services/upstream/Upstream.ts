/** Calls model providers under the fault policy. */
import { Context, Effect, Layer, Queue, Stream } from "effect"
import type * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import type {
  Answered,
  ApiEvent,
  ApiRequest,
  Completed,
  KeySource,
  ProviderId,
  StreamEvent,
  UpstreamError,
  UpstreamRequest,
} from "../../domain/upstream/upstream.ts"
import type { OfferedModel } from "../../domain/upstream/providersFile.ts"
import { streamedAnswer, wholeAnswer } from "./Calls.ts"
import { layerCircuitsInMemory } from "./CircuitStore.ts"
import { makeFaultPolicy } from "./FaultPolicy.ts"
import { keySourceOf, type Provider } from "./Provider.ts"
import { echo } from "./providers/echo/Echo.ts"
import { apiQuestion, chatQuestion, type Question } from "./Questions.ts"
import { type ProviderStatus } from "./UpstreamStatus.ts"
import { defaultUpstreamSettings, type UpstreamSettings } from "./UpstreamSettings.ts"

export type { ProviderStatus, TargetStatus } from "./UpstreamStatus.ts"

type Finished = Extract<StreamEvent, { readonly _tag: "Finished" }>

/** The number of events that wait for a slow reader of a stream before reading from its provider pauses. */
const STREAM_BUFFER = 4

/** The models that a provider is known to offer, its default first. */
export interface Offers {
  readonly provider: ProviderId
  readonly offers: ReadonlyArray<OfferedModel>
}

const offersOf = new WeakMap<ReadonlyArray<Provider>, ReadonlyArray<Offers>>()

const offersIn = (providers: ReadonlyArray<Provider>): ReadonlyArray<Offers> => {
  const known =
    offersOf.get(providers) ??
    providers.map(({ defaultModel, id, offers = [{ name: defaultModel }] }) => ({ provider: id, offers }))
  offersOf.set(providers, known)
  return known
}

interface UpstreamOptions {
  /** In the order in which they are asked if a request names none. */
  readonly providers: ReadonlyArray<Provider>
  readonly settings?: UpstreamSettings | undefined
  /** Runs until the layer closes, and may replace the providers. */
  readonly follow?:
    | ((replace: (providers: ReadonlyArray<Provider>) => Effect.Effect<void>) => Effect.Effect<void>)
    | undefined
}

export class Upstream extends Context.Service<
  Upstream,
  {
    /** Asks for a whole answer to a chat. */
    readonly complete: (request: UpstreamRequest) => Effect.Effect<Completed, UpstreamError>
    /** Asks for a streamed answer to a chat. It succeeded only if its last event is `Finished`. */
    readonly stream: (request: UpstreamRequest) => Stream.Stream<StreamEvent, UpstreamError>
    /**
     * Asks for a streamed answer and passes each event to `onEvent` at once, without a queue. So the caller has all
     * output of a call when `onAttempt` reports the end of that call, and can charge for it.
     */
    readonly streamTo: (
      request: UpstreamRequest,
      onEvent: (event: StreamEvent) => void,
    ) => Effect.Effect<Finished, UpstreamError>
    /** Asks for a whole answer to a request that is passed on as its sender wrote it where its API is spoken. */
    readonly request: (request: ApiRequest) => Effect.Effect<Answered, UpstreamError>
    /** The same, streamed. It succeeded only if its last event is `Finished`. */
    readonly requestStream: (request: ApiRequest) => Stream.Stream<ApiEvent, UpstreamError>
    /** The same, with the events passed to `onEvents` as they come, which may make the provider wait. */
    readonly requestStreamTo: (
      request: ApiRequest,
      onEvents: (events: ReadonlyArray<ApiEvent>) => Effect.Effect<unknown>,
    ) => Effect.Effect<Finished, UpstreamError>
    /** The configured providers, and whose keys they are called with. */
    readonly configured: Effect.Effect<ReadonlyMap<ProviderId, KeySource>>
    /** The models that the configured providers offer, in order. The same array until they are replaced. */
    readonly offering: Effect.Effect<ReadonlyArray<Offers>>
    /** The state of every configured provider, in order. Makes no call. */
    readonly status: Effect.Effect<ReadonlyArray<ProviderStatus>>
    /** Replaces the fault policy's settings, except the connect timeout, for requests that begin from now on. */
    readonly configure: (settings: UpstreamSettings) => Effect.Effect<void>
  }
>()("sealgate/services/upstream/Upstream") {
  static readonly make = Effect.fnUntraced(function* ({ follow, providers, settings }: UpstreamOptions) {
    const policy = yield* makeFaultPolicy(providers, settings ?? defaultUpstreamSettings)
    if (follow !== undefined) yield* Effect.forkScoped(follow(policy.replace))
    const whole = <Answer, Piece>(request: UpstreamRequest | ApiRequest, question: Question<Answer, Piece>) =>
      Effect.map(policy.serve(request, wholeAnswer(question)), ({ attempts, value }) => ({ ...value, attempts }))
    const streamed = <Answer, Piece>(request: UpstreamRequest | ApiRequest, question: Question<Answer, Piece>) =>
      Stream.callback<StreamEvent<Piece>, UpstreamError>(
        (events) =>
          policy
            .serve(
              request,
              streamedAnswer(question, request, (pieces) => Queue.offerAll(events, pieces)),
            )
            .pipe(
              Effect.flatMap(({ attempts, value }) =>
                Queue.offer(events, { _tag: "Finished", served: value, attempts }),
              ),
              Effect.andThen(Queue.end(events)),
            ),
        { bufferSize: STREAM_BUFFER },
      )
    const streamTo = (request: UpstreamRequest, onEvent: (event: StreamEvent) => void) => {
      const hear = (events: ReadonlyArray<StreamEvent>) => {
        for (const event of events) onEvent(event)
        return Effect.void
      }
      return Effect.map(
        policy.serve(request, streamedAnswer(chatQuestion(request.completion, request.outputLimit), request, hear)),
        ({ attempts, value }): Finished => ({ _tag: "Finished", served: value, attempts }),
      )
    }
    const requestStreamTo: Upstream["Service"]["requestStreamTo"] = (request, onEvents) =>
      Effect.map(
        policy.serve(request, streamedAnswer(apiQuestion(request), request, onEvents)),
        ({ attempts, value }): Finished => ({ _tag: "Finished", served: value, attempts }),
      )
    return Upstream.of({
      complete: (request) =>
        Effect.map(
          whole(request, chatQuestion(request.completion, request.outputLimit)),
          ({ answer: completion, ...rest }) => ({
            completion,
            ...rest,
          }),
        ),
      stream: (request) => streamed(request, chatQuestion(request.completion, request.outputLimit)),
      streamTo,
      request: (request) =>
        Effect.map(whole(request, apiQuestion(request)), ({ answer: json, ...rest }) => ({ json, ...rest })),
      requestStream: (request) => streamed(request, apiQuestion(request)),
      requestStreamTo,
      configured: Effect.map(
        policy.providers,
        (all) => new Map(all.map((provider) => [provider.id, keySourceOf(provider)])),
      ),
      offering: Effect.map(policy.providers, offersIn),
      status: policy.status,
      configure: policy.configure,
    })
  })

  /** Providers behind the fault policy, with circuits in a store of the operator's choice. */
  static readonly layerNoDeps = (
    options: UpstreamOptions,
  ): Layer.Layer<Upstream, never, CircuitBreaker.CircuitBreakerStore> => Layer.effect(Upstream, Upstream.make(options))

  /** Providers behind the fault policy, with circuits in memory. */
  static readonly layer = (options: UpstreamOptions): Layer.Layer<Upstream> =>
    Layer.provide(Upstream.layerNoDeps(options), layerCircuitsInMemory)

  /** Serves everything from the built-in echo: for the demo, for tests, and when no provider key is set. */
  static readonly layerEcho = Upstream.layer({ providers: [echo] })
}
