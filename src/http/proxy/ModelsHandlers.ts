import { Effect } from "effect"
import { ProxyApi } from "../../api/proxy/ProxyApi.ts"
import { Upstream } from "../../services/upstream/Upstream.ts"
import { layerHandlers } from "../shared/layerHandlers.ts"

export const ModelsHandlers = layerHandlers(
  ProxyApi,
  "models",
  Effect.fn(function* (handlers) {
    const upstream = yield* Upstream
    return handlers.handleAll({
      models: () =>
        Effect.map(upstream.offering, (providers) => ({
          object: "list" as const,
          data: providers.flatMap(({ offers, provider: owned_by }) =>
            offers.map(({ name: id }) => ({ id, object: "model" as const, created: 0 as const, owned_by })),
          ),
        })),
    })
  }),
)
