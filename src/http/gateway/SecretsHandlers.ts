import { Effect } from "effect"
import { GatewayApi } from "../../api/gateway/GatewayApi.ts"
import { ProviderTakesNoKey } from "../../domain/access/secrets.ts"
import { Audit } from "../../services/access/Audit.ts"
import { Secrets } from "../../services/access/Secrets.ts"
import { Upstream } from "../../services/upstream/Upstream.ts"
import { layerHandlers } from "../shared/layerHandlers.ts"
import { unlimitedUser } from "./scopes.ts"

export const SecretsHandlers = layerHandlers(
  GatewayApi,
  "secrets",
  Effect.fn(function* (handlers) {
    const secrets = yield* Secrets
    const audit = yield* Audit
    const upstream = yield* Upstream

    return handlers.handleAll({
      list: () =>
        Effect.flatMap(unlimitedUser, ({ tenant }) => Effect.map(secrets.list(tenant), (items) => ({ items }))),
      put: Effect.fnUntraced(function* ({ params: { name }, payload }) {
        const user = yield* unlimitedUser
        const { provider } = payload
        if (provider !== undefined && ((yield* upstream.configured).get(provider) ?? "operator") === "operator") {
          return yield* new ProviderTakesNoKey()
        }
        return yield* audit.noted(user, "secret.put", secrets.put(user.tenant, name, payload), () => name)
      }),
      remove: Effect.fnUntraced(function* ({ params: { name } }) {
        const user = yield* unlimitedUser
        yield* audit.noted(user, "secret.remove", secrets.remove(user.tenant, name), () => name)
      }),
    })
  }),
)
