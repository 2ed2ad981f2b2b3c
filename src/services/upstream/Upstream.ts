/** Calls model providers under the fault policy. */
import { Context, Effect, Layer } from "effect"
import type * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import type { ChatChunk } from "../../domain/chat/chat.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import type {
  Answered,
  ApiRequest,
  Completed,
  Emit,
  KeySource,
  ProviderId,
  Streamed,
  UpstreamError,
  UpstreamRequest,
} from "../../domain/upstream/upstream.ts"
import type { OfferedModel } from "../../domain/upstream/providersFile.ts"
import { streamedAnswer, wholeAnswer } from "./Calls.ts"
import { layerCircuitsInMemory } from "./CircuitStore.ts"
import { makeFaultPolicy } from "./FaultPolicy.ts"
import { keySourceOf, type Provider } from "./Provider.ts"
import { echo } from "./providers/echo/Echo.ts"
import { apiQuestion, chatQuestion, type UpstreamQuestion } from "./Questions.ts"
import { type ProviderStatus } from "./UpstreamStatus.ts"
import { defaultUpstreamSettings, type UpstreamSettings } from "./UpstreamSettings.ts"

export type { ProviderStatus, TargetStatus } from "./UpstreamStatus.ts"

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
    /**
     * Asks for a streamed answer to a chat and passes its events on at once, without a queue. So the caller has all
     * output of a call when `onAttempt` reports the end of that call, and can charge for it.
     */
    readonly streamTo: (request: UpstreamRequest, emit: Emit<ChatChunk>) => Effect.Effect<Streamed, UpstreamError>
    /** Asks for a whole answer to a request. Providers that speak its API get it as its sender wrote it. */
    readonly request: (request: ApiRequest) => Effect.Effect<Answered, UpstreamError>
    /** The same, streamed. */
    readonly requestStreamTo: (request: ApiRequest, emit: Emit<JsonObject>) => Effect.Effect<Streamed, UpstreamError>
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
    const whole = <Answer, Piece>(request: UpstreamRequest | ApiRequest, question: UpstreamQuestion<Answer, Piece>) =>
      Effect.map(policy.serve(request, wholeAnswer(question, request)), ({ attempts, value }) => ({
        ...value,
        attempts,
      }))
    const streamed = <Answer, Piece>(
      request: UpstreamRequest | ApiRequest,
      question: UpstreamQuestion<Answer, Piece>,
      emit: Emit<Piece>,
    ) =>
      Effect.map(policy.serve(request, streamedAnswer(question, request, emit)), ({ attempts, value }) => ({
        served: value,
        attempts,
      }))
    return Upstream.of({
      complete: (request) =>
        Effect.map(whole(request, chatQuestion(request)), ({ answer: completion, ...rest }) => ({
          completion,
          ...rest,
        })),
      streamTo: (request, emit) => streamed(request, chatQuestion(request), emit),
      request: (request) =>
        Effect.map(whole(request, apiQuestion(request)), ({ answer: json, ...rest }) => ({ json, ...rest })),
      requestStreamTo: (request, emit) => streamed(request, apiQuestion(request), emit),
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
