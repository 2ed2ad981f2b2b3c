import { Effect, Stream } from "effect"
import { CurrentUser } from "../../api/gateway/Authorization.ts"
import { GatewayApi } from "../../api/gateway/GatewayApi.ts"
import { Drain } from "../../services/lifecycle/Drain.ts"
import { TenantChanges } from "../../services/TenantChanges.ts"
import { eventStreamResponse, OPENING, renderEvent } from "../shared/EventStream.ts"
import { layerHandlers } from "../shared/layerHandlers.ts"
import { tenantIn } from "./scopes.ts"
import { makeWaitingPlace } from "./waitingPlace.ts"

const CHANGED = renderEvent("changed", "{}")

export const ChangesHandlers = layerHandlers(
  GatewayApi,
  "changes",
  Effect.fn(function* (handlers) {
    const changes = yield* TenantChanges
    const drain = yield* Drain
    const place = yield* makeWaitingPlace
    return handlers.handleAll({
      follow: Effect.fnUntraced(function* ({ query }) {
        const { tenant } = yield* tenantIn(query.scope)
        yield* place((yield* CurrentUser).tenant)
        const events = changes.follow(tenant).pipe(
          Stream.map(() => CHANGED),
          Stream.interruptWhen(drain.begun),
        )
        return eventStreamResponse(Stream.concat(Stream.succeed(OPENING), events))
      }),
    })
  }),
)
