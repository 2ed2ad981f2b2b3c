import { Effect } from "effect"
import { GatewayApi } from "../../api/gateway/GatewayApi.ts"
import { CurrentAdmin } from "../../api/gateway/Authorization.ts"
import { Audit } from "../../services/access/Audit.ts"
import { layerHandlers } from "../shared/layerHandlers.ts"

export const AuditHandlers = layerHandlers(
  GatewayApi,
  "audit",
  Effect.fn(function* (handlers) {
    const audit = yield* Audit
    return handlers.handleAll({ list: ({ query }) => Effect.andThen(CurrentAdmin, audit.list(query)) })
  }),
)
