/**
 * Who gets in. The client was counted before, by the head of its request, so that guessing tokens is limited too; here the
 * token is checked, then its tenant is counted. Nothing of a body is read before.
 */
import { Effect, Layer, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import { ADMIN_ROLE, AccessDenied } from "../../domain/identity.ts"
import { Tokens } from "../../services/access/Tokens.ts"
import { Drain } from "../../services/lifecycle/Drain.ts"
import { makeTake } from "../shared/ClientLimits.ts"
import { AdminOnly, Authorization, CurrentAdmin, CurrentUser } from "../../api/gateway/Authorization.ts"
import { GatewayLimits, rateClassOf } from "./GatewayLimits.ts"
import { Draining, refuse } from "./problems.ts"

export const layerAuthorization = Layer.effect(
  Authorization,
  Effect.gen(function* () {
    const tokens = yield* Tokens
    const limits = yield* GatewayLimits
    const drain = yield* Drain
    const take = yield* makeTake

    return Authorization.of({
      bearer: Effect.fnUntraced(function* (app, { credential, endpoint }) {
        yield* drain.inFlight
        const rateClass = rateClassOf(endpoint.method, endpoint.annotations)
        const admission = yield* Effect.result(
          Effect.gen(function* () {
            const user = yield* tokens.verify(credential)
            yield* take(`${rateClass}-per-tenant`, user.tenant, limits[rateClass])
            return rateClass === "execute" && (yield* drain.draining) ? yield* new Draining() : user
          }),
        )
        if (Result.isFailure(admission)) return yield* refuse(admission.failure)
        const answer = yield* Effect.provideService(app, CurrentUser, admission.success)
        return HttpServerResponse.setHeader(answer, "cache-control", "no-store")
      }),
    })
  }),
)

export const layerAdminOnly = Layer.succeed(
  AdminOnly,
  Effect.fnUntraced(function* (app) {
    const user = yield* CurrentUser
    return user.roles.includes(ADMIN_ROLE)
      ? yield* Effect.provideService(app, CurrentAdmin, user)
      : yield* refuse(new AccessDenied())
  }),
)
