import { Effect, Redacted } from "effect"
import { GatewayApi } from "../../api/gateway/GatewayApi.ts"
import { CurrentUser } from "../../api/gateway/Authorization.ts"
import { Audit } from "../../services/access/Audit.ts"
import { Jobs } from "../../services/jobs/Jobs.ts"
import { Webhooks } from "../../services/webhooks/Webhooks.ts"
import { makeJobUser } from "./jobUser.ts"
import { layerHandlers } from "../shared/layerHandlers.ts"

export const WebhooksHandlers = layerHandlers(
  GatewayApi,
  "webhooks",
  Effect.fn(function* (handlers) {
    const audit = yield* Audit
    const webhooks = yield* Webhooks
    const jobs = yield* Jobs
    const userOf = makeJobUser(jobs)
    return handlers.handleAll({
      replaceSecret: Effect.fnUntraced(function* () {
        const user = yield* CurrentUser
        const { tenant } = user
        const secret = yield* audit.noted(user, "webhooks.secret", webhooks.replaceSecret(tenant), () => tenant)
        return { secret: Redacted.value(secret) }
      }),
      deliveries: Effect.fnUntraced(function* ({ params }) {
        const { tenant } = yield* userOf(params.id)
        const { id } = yield* jobs.get(tenant, params.id)
        return { items: yield* webhooks.deliveries(tenant, id) }
      }),
    })
  }),
)
