import { Effect, Stream } from "effect"
import { CurrentUser } from "../../api/gateway/Authorization.ts"
import { GatewayApi } from "../../api/gateway/GatewayApi.ts"
import { TenantChanges } from "../../services/TenantChanges.ts"
import { eventStreamResponse, OPENING, renderEvent } from "../shared/EventStream.ts"
import { layerHandlers } from "../shared/layerHandlers.ts"
import { tenantIn } from "./scopes.ts"
import { makeWaitingPlace } from "./waitingPlace.ts"
import { makeWhileAllowed } from "./whileAllowed.ts"

const CHANGED = renderEvent("changed", "{}")

export const ChangesHandlers = layerHandlers(
  GatewayApi,
  "changes",
  Effect.fn(function* (handlers) {
    const changes = yield* TenantChanges
    const place = yield* makeWaitingPlace
    const whileAllowed = yield* makeWhileAllowed
    return handlers.handleAll({
      follow: Effect.fnUntraced(function* ({ query }) {
        const { tenant } = yield* tenantIn(query.scope)
        const user = yield* CurrentUser
        yield* place(user.tenant)
        const events = changes.follow(tenant).pipe(
          Stream.map(() => CHANGED),
          whileAllowed.stream(user),
        )
        return eventStreamResponse(Stream.concat(Stream.succeed(OPENING), events))
      }),
    })
  }),
)
