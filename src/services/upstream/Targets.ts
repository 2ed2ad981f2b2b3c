/** The targets that a request may be sent to, in order. */
import { Effect, Redacted } from "effect"
import { type ApiName, CHAT_COMPLETIONS } from "../../domain/upstream/apis.ts"
import {
  type ApiRequest,
  hasKey,
  type TenantKeys,
  UpstreamError,
  type UpstreamRequest,
} from "../../domain/upstream/upstream.ts"
import { keySourceOf, type Provider } from "./Provider.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"

/** A model of a provider that can be called. */
export interface ModelTarget {
  readonly provider: Provider
  readonly model: string
  readonly contextTokens?: number | undefined
  readonly firstTokenMs?: number | undefined
  /** The tenant's own key, if the call uses one. */
  readonly own?: { readonly tenant: string; readonly key: Redacted.Redacted }
  /** Whether only the caller named the model. If the model is unknown, the caller made the mistake. */
  readonly named?: boolean
}

/**
 * Providers without a key for the request count as not configured.
 *
 * - A request with `targets` gets those whose provider is configured.
 * - A request that names a provider gets that one, with its model as given, and nothing else.
 * - Any other request gets all providers in order. The one whose default is the request's model, or else one that offers
 *   it, comes first. If none does, the first provider is asked for it. Every other provider is asked for its default,
 *   because model names differ between providers. For embeddings it is asked only if that is the same model.
 */
export const targetsOf = (
  configured: ReadonlyArray<Provider>,
  request: UpstreamRequest | ApiRequest,
): Effect.Effect<ReadonlyArray<ModelTarget>, UpstreamError> => {
  const providers = configured.filter((provider) => hasKey(keySourceOf(provider), provider.id, request.own))
  const speaking = providers.filter((provider) => speaks(provider, request))
  const targets = candidates(speaking, request)
  if (targets.length > 0) return Effect.succeed(targets.map((target) => withOwnKey(target, request.own)))
  const known = speaking.length === providers.length || !isKnown(providers, request)
  return Effect.fail(known ? notConfigured(request) : unsupportedApi(speaking, request))
}

const withOwnKey = (target: ModelTarget, own: TenantKeys | undefined): ModelTarget => {
  const key = target.provider.ownKeys === undefined ? undefined : own?.keys.get(target.provider.id)
  return own === undefined || key === undefined ? target : { ...target, own: { tenant: own.tenant, key } }
}

/** The provider to call, with the tenant's own key if the target has one. */
export const calledOf = ({ own, provider }: ModelTarget): Pick<Provider, "complete" | "stream" | "native"> =>
  own === undefined ? provider : (provider.ownKeys?.withKey(own.key) ?? provider)

export const apiNameOf = (request: UpstreamRequest | ApiRequest): ApiName =>
  "api" in request ? request.api : CHAT_COMPLETIONS

export const modelOf = (request: UpstreamRequest | ApiRequest): string | undefined =>
  "api" in request ? request.model : request.completion.model

/** Whether a provider can take a request: chats are translated for every provider, other APIs are not. */
const speaks = ({ native }: Provider, request: UpstreamRequest | ApiRequest): boolean =>
  !("api" in request) || request.api === CHAT_COMPLETIONS || native?.names.has(request.api) === true

/** Whether the request names no provider, or one of these. */
const isKnown = (providers: ReadonlyArray<Provider>, { provider }: UpstreamRequest | ApiRequest): boolean =>
  provider === undefined || providers.some(({ id }) => id === provider)

const notConfigured = ({ provider }: UpstreamRequest | ApiRequest) =>
  new UpstreamError({ code: "provider-not-configured", ...withoutUndefined({ provider }) })

const unsupportedApi = (speaking: ReadonlyArray<Provider>, request: UpstreamRequest | ApiRequest) => {
  const api = apiNameOf(request)
  const others = speaking.map(({ id }) => id).join(", ")
  const detail =
    others === "" ? `No provider that is configured here speaks ${api}.` : `${api} is spoken by: ${others}.`
  return new UpstreamError({
    code: "unsupported-api",
    detail: Redacted.make(detail),
    ...withoutUndefined({ provider: request.provider }),
  })
}

/** Whether another model can answer: the vectors of two models cannot be compared. */
const hasSubstitutes = (request: UpstreamRequest | ApiRequest): boolean => apiNameOf(request) !== "embeddings"

const offersModel = ({ defaultModel, offers = [] }: Provider, model: string): boolean =>
  model === defaultModel || offers.some(({ name }) => name === model)

/** The first provider that offers the model that the caller names, if any. */
const asked = (provider: Provider, model: string | undefined): ModelTarget =>
  model === undefined
    ? { provider, model: provider.defaultModel }
    : offersModel(provider, model)
      ? { provider, model }
      : { provider, model, named: true }

const candidates = (
  providers: ReadonlyArray<Provider>,
  request: UpstreamRequest | ApiRequest,
): ReadonlyArray<ModelTarget> => {
  const model = modelOf(request)
  if (request.targets !== undefined) {
    return request.targets.flatMap((target) => {
      const provider = providers.find(({ id }) => id === target.provider)
      return provider === undefined ? [] : [{ ...target, provider }]
    })
  }
  if (request.provider !== undefined) {
    return providers.filter(({ id }) => id === request.provider).map((provider) => asked(provider, model))
  }
  const defaults = providers.map((provider): ModelTarget => ({ provider, model: provider.defaultModel }))
  const home =
    defaults.find((target) => target.model === model) ??
    defaults.find(({ provider }) => model !== undefined && offersModel(provider, model)) ??
    defaults[0]
  if (home === undefined) return []
  const first = model === home.model ? home : asked(home.provider, model)
  const others = defaults.filter(
    (target) => target !== home && (hasSubstitutes(request) || target.model === first.model),
  )
  return [first, ...others]
}
