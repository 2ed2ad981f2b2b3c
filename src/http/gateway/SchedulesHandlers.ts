import { Effect } from "effect"
import { CurrentUser } from "../../api/gateway/Authorization.ts"
import { GatewayApi } from "../../api/gateway/GatewayApi.ts"
import { permitsAgent } from "../../domain/access/identity.ts"
import { ScheduleNotFound } from "../../domain/jobs/schedule.ts"
import { Audit } from "../../services/access/Audit.ts"
import { mayExecute } from "../../services/access/mayExecute.ts"
import { makeCheckMode } from "../../services/jobs/modes/own/OwnModes.ts"
import { Schedules } from "../../services/jobs/Schedules.ts"
import { Webhooks } from "../../services/webhooks/Webhooks.ts"
import { layerHandlers } from "../shared/layerHandlers.ts"

export const SchedulesHandlers = layerHandlers(
  GatewayApi,
  "schedules",
  Effect.fn(function* (handlers) {
    const schedules = yield* Schedules
    const webhooks = yield* Webhooks
    const audit = yield* Audit
    const checkMode = yield* makeCheckMode

    return handlers.handleAll({
      create: Effect.fnUntraced(function* ({ payload }) {
        const user = yield* CurrentUser
        yield* mayExecute(user, payload.agent_id, payload.request)
        yield* checkMode(payload.request.mode)
        yield* webhooks.check(user.tenant, payload.request.webhook_url)
        const created = schedules.create(user.tenant, payload, user.key?.id)
        return yield* audit.noted(user, "schedule.create", created, ({ id }) => id)
      }),
      list: ({ query }) => Effect.flatMap(CurrentUser, ({ key, tenant }) => schedules.list(tenant, query, key?.agents)),
      get: Effect.fnUntraced(function* ({ params }) {
        const user = yield* CurrentUser
        const schedule = yield* schedules.get(user.tenant, params.id)
        return permitsAgent(user, schedule.agent_id) ? schedule : yield* new ScheduleNotFound()
      }),
      remove: Effect.fnUntraced(function* ({ params }) {
        const user = yield* CurrentUser
        yield* audit.noted(user, "schedule.remove", schedules.remove(user.tenant, params.id), () => params.id)
      }),
    })
  }),
)
