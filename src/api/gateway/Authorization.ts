/** Who may do what, as a type: an endpoint that needs a user or an administrator can only be served behind the check. */
import { Context } from "effect"
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import { AccessDenied, type Identity, TokenKeysUnavailable, TokenRefused } from "../../domain/identity.ts"
import { Refusal } from "../../domain/refusal.ts"
import { Draining, Internal, TimedOut, TooManyRequests } from "../problems.ts"

/** Who calls. Only {@link Authorization} provides it. */
export class CurrentUser extends Context.Service<CurrentUser, Identity>()(
  "sealgate/api/gateway/Authorization/CurrentUser",
) {}

/** An administrator who calls. Only {@link AdminOnly} provides it. */
export class CurrentAdmin extends Context.Service<CurrentAdmin, Identity>()(
  "sealgate/api/gateway/Authorization/CurrentAdmin",
) {}

/** A member of the request does not fit, or members that fit one by one do not go together. */
export class RequestInvalid extends Refusal<RequestInvalid>()("RequestInvalid", {
  code: "invalid-request",
  status: 400,
  title: "The request does not have the expected shape.",
}) {}

/** A bearer token (RFC 6750), and no more requests than its tenant and its address may make. */
export class Authorization extends HttpApiMiddleware.Service<Authorization, { provides: CurrentUser }>()(
  "sealgate/api/gateway/Authorization",
  {
    requiredForClient: true,
    security: { bearer: HttpApiSecurity.http({ scheme: "bearer" }) },
    error: [RequestInvalid, TokenRefused, TimedOut, TooManyRequests, Internal, TokenKeysUnavailable, Draining],
  },
) {}

/** The role `admin`. */
export class AdminOnly extends HttpApiMiddleware.Service<
  AdminOnly,
  { provides: CurrentAdmin; requires: CurrentUser }
>()("sealgate/api/gateway/Authorization/AdminOnly", { error: AccessDenied }) {}

/** What a request is counted as. Without an annotation, GET is `read` and everything else `write`. */
export const RateClass = Context.Reference<"read" | "write" | "execute" | undefined>(
  "sealgate/api/gateway/Authorization/RateClass",
  { defaultValue: () => undefined },
)
