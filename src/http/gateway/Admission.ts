/**
 * Who gets in: first the client is counted, so that guessing tokens is limited too, then the token is checked, then its
 * tenant is counted.
 */
import { Context, Effect, Layer, Result } from "effect"
import { HttpEffect, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { ADMIN_ROLE, AccessDenied } from "../../domain/identity.ts"
import { RateLimits } from "../../services/access/RateLimits.ts"
import { Tokens } from "../../services/access/Tokens.ts"
import { Drain } from "../../services/lifecycle/Drain.ts"
import { clientIdentity } from "../shared/ClientIdentity.ts"
import { AdminOnly, Authorization, CurrentAdmin, CurrentUser, RateClass } from "./Authorization.ts"
import { GatewayLimits } from "./GatewayLimits.ts"
import { Draining, refuse } from "./problems.ts"
import { type Counted, type PolicyState, rateLimitFields, stateOf } from "./rateLimitFields.ts"

const rateClassOf = (endpoint: Pick<HttpApiEndpoint.Top, "annotations" | "method">) =>
  Context.get(endpoint.annotations, RateClass) ?? (endpoint.method === "GET" ? "read" : "write")

export const layerAuthorization = Layer.effect(
  Authorization,
  Effect.gen(function* () {
    const tokens = yield* Tokens
    const rates = yield* RateLimits
    const limits = yield* GatewayLimits
    const drain = yield* Drain

    return Authorization.of({
      bearer: Effect.fnUntraced(function* (app, { credential, endpoint }) {
        const request = yield* HttpServerRequest.HttpServerRequest
        const rateClass = rateClassOf(endpoint)
        const states: Array<PolicyState> = []

        const take = (by: Counted, whose: string) => {
          const policy = `${rateClass}-per-${by}`
          return rates.take(`${policy}:${whose}`, limits[rateClass]).pipe(
            Effect.tap((allowance) => Effect.sync(() => states.push(stateOf(policy, allowance)))),
            Effect.tapError((error) => Effect.sync(() => states.push(stateOf(policy, error)))),
          )
        }

        // On every answer, also on those that are rendered further out.
        yield* HttpEffect.appendPreResponseHandler((_, response) =>
          Effect.sync(() =>
            HttpServerResponse.setHeaders(response, { "cache-control": "no-store", ...rateLimitFields(states) }),
          ),
        )
        yield* drain.inFlight
        const admission = yield* Effect.result(
          Effect.gen(function* () {
            const { by, whose } = clientIdentity(request)
            yield* take(by, whose)
            const user = yield* tokens.verify(credential)
            yield* take("tenant", user.tenant)
            return rateClass === "execute" && (yield* drain.draining) ? yield* new Draining() : user
          }),
        )
        if (Result.isFailure(admission)) return yield* refuse(admission.failure)
        return yield* Effect.provideService(app, CurrentUser, admission.success)
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
