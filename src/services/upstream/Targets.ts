/** The targets that a request may be sent to, in order. */
import { Effect } from "effect"
import { UpstreamError, type UpstreamRequest } from "../../domain/upstream.ts"
import type { Provider } from "./Provider.ts"
import { defined } from "../../domain/defined.ts"

/** A model of a provider that can be called. */
export interface Target {
  readonly provider: Provider
  readonly model: string
  readonly contextTokens?: number | undefined
  readonly firstTokenMs?: number | undefined
}

/**
 * - A request with `targets` gets those whose provider is configured.
 * - A request that names a provider gets that one, with its model as given, and nothing else.
 * - Any other request goes down the order. Its model is asked of the provider that has it as its default, and that
 *   provider comes first; a model that is nobody's default is asked of the first provider. Every other provider is
 *   asked for its own default, because model names mean nothing elsewhere.
 */
export const targetsOf = (
  providers: ReadonlyArray<Provider>,
  request: UpstreamRequest,
): Effect.Effect<ReadonlyArray<Target>, UpstreamError> => {
  const targets = candidates(providers, request)
  return targets.length > 0
    ? Effect.succeed(targets)
    : Effect.fail(
        new UpstreamError({
          code: "provider-not-configured",
          ...defined({ provider: request.provider }),
        }),
      )
}

const candidates = (providers: ReadonlyArray<Provider>, request: UpstreamRequest): ReadonlyArray<Target> => {
  const model = request.completion.model
  if (request.targets !== undefined) {
    return request.targets.flatMap((target) => {
      const provider = providers.find(({ id }) => id === target.provider)
      return provider === undefined ? [] : [{ ...target, provider }]
    })
  }
  if (request.provider !== undefined) {
    return providers
      .filter(({ id }) => id === request.provider)
      .map((provider) => ({ provider, model: model ?? provider.defaultModel }))
  }
  const defaults = providers.map((provider): Target => ({ provider, model: provider.defaultModel }))
  if (model === undefined) return defaults
  const first = defaults.find((target) => target.model === model) ?? defaults[0]
  if (first === undefined) return []
  return [{ ...first, model }, ...defaults.filter(({ provider }) => provider !== first.provider)]
}
