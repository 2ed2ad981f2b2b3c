import { Effect } from "effect"
import { AccessDenied } from "../../domain/access/identity.ts"
import { GatewayApi } from "../../api/gateway/GatewayApi.ts"
import { CurrentUser } from "../../api/gateway/Authorization.ts"
import { Audit } from "../../services/access/Audit.ts"
import { Secrets } from "../../services/access/Secrets.ts"
import { layerHandlers } from "../shared/layerHandlers.ts"

/** The caller. Keys limited to some agents handle nothing that others use. */
const manager = Effect.flatMap(CurrentUser, (user) =>
  user.key?.agents === undefined ? Effect.succeed(user) : Effect.fail(AccessDenied.limited()),
)

export const SecretsHandlers = layerHandlers(
  GatewayApi,
  "secrets",
  Effect.fn(function* (handlers) {
    const secrets = yield* Secrets
    const audit = yield* Audit

    return handlers.handleAll({
      list: () => Effect.flatMap(manager, ({ tenant }) => Effect.map(secrets.list(tenant), (items) => ({ items }))),
      put: Effect.fnUntraced(function* ({ params: { name }, payload }) {
        const user = yield* manager
        const info = yield* secrets.put(user.tenant, name, payload)
        yield* audit.note(user, "secret.put", name)
        return info
      }),
      remove: Effect.fnUntraced(function* ({ params: { name } }) {
        const user = yield* manager
        yield* secrets.remove(user.tenant, name)
        yield* audit.note(user, "secret.remove", name)
      }),
    })
  }),
)
