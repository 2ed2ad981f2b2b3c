/**
 * Checks the key or token of a request and its role, and counts it for its tenant and key, before the body is read. Edge has
 * already counted it for its client, which limits guessing of tokens.
 */
import { Effect, Layer, Redacted } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { AccessDenied } from "../../domain/access/identity.ts"
import { ADMIN_ROLE, hasRole, isNamed } from "../../domain/access/roles.ts"
import { GatewayKeys } from "../../services/access/GatewayKeys.ts"
import { isGatewayKey } from "../../services/access/keySecret.ts"
import { OF_KEYS, ofTenants } from "../../services/access/RateLimits.ts"
import { Tokens } from "../../services/access/Tokens.ts"
import { Drain } from "../../services/lifecycle/Drain.ts"
import { makeTake, tooMany } from "../shared/ClientLimits.ts"
import { Draining } from "../../api/problems.ts"
import { AdminOnly, Authorization, CurrentAdmin, CurrentUser } from "../../api/gateway/Authorization.ts"
import { GatewayLimits, neededRole, rateClassOf } from "./GatewayLimits.ts"

export const layerAuthorization = Layer.effect(
  Authorization,
  Effect.gen(function* () {
    const tokens = yield* Tokens
    const keys = yield* GatewayKeys
    const limits = yield* GatewayLimits
    const drain = yield* Drain
    const take = yield* makeTake

    return Authorization.of({
      bearer: Effect.fnUntraced(function* (app, { credential: bearer, endpoint }) {
        yield* drain.inFlight("request")
        const credential = Redacted.value(bearer) === "" ? yield* apiKey : bearer
        const rateClass = rateClassOf(endpoint.method, endpoint.annotations)
        const user = yield* isGatewayKey(Redacted.value(credential))
          ? keys.identify(credential)
          : tokens.verify(credential)
        const needed = neededRole(endpoint.method, endpoint.annotations)
        if (!hasRole(user, needed)) return yield* AccessDenied.of(user, needed)
        const { key } = user
        if (key?.perMinute !== undefined) {
          yield* Effect.mapError(take(OF_KEYS, key.id, key.perMinute), (error) =>
            tooMany(error, `At most ${error.limit} requests per minute are accepted from this key.`),
          )
        }
        // Last, so that requests that are refused anyway take nothing from the others of the tenant.
        yield* Effect.mapError(take(ofTenants(rateClass), user.tenant, limits.ofTenant[rateClass]), (error) =>
          tooMany(error, `At most ${error.limit} of this kind per minute are accepted from one tenant.`),
        )
        if (rateClass === "execute" && (yield* drain.draining)) return yield* new Draining()
        const answer = yield* Effect.provideService(app, CurrentUser, user)
        return HttpServerResponse.setHeader(answer, "cache-control", "no-store")
      }),
    })
  }),
)

/** The header in which Anthropic's clients send keys; empty if there is none. */
const apiKey = Effect.map(HttpServerRequest.HttpServerRequest, ({ headers }) =>
  Redacted.make(headers["x-api-key"] ?? ""),
)

export const layerAdminOnly = Layer.succeed(
  AdminOnly,
  Effect.fnUntraced(function* (app) {
    const user = yield* CurrentUser
    return isNamed(user, ADMIN_ROLE)
      ? yield* Effect.provideService(app, CurrentAdmin, user)
      : yield* AccessDenied.lacking(ADMIN_ROLE)
  }),
)
