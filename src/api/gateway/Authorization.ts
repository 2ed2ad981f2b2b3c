/** Authorization as a type: an endpoint that needs a user or an administrator compiles only behind the check. */
import { Context } from "effect"
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import { AccessDenied, type Identity, TokenKeysUnavailable, TokenRefused } from "../../domain/access/identity.ts"
import type { Role } from "../../domain/access/roles.ts"
import { Refusal } from "../../domain/problems/refusal.ts"
import { StorageUnavailable } from "../../domain/operations/storage.ts"
import { Draining, Internal, TimedOut, TooManyRequests } from "../problems.ts"

/** The authenticated caller. Only {@link Authorization} provides it. */
export class CurrentUser extends Context.Service<CurrentUser, Identity>()(
  "sealgate/api/gateway/Authorization/CurrentUser",
) {}

/** The authenticated administrator. Only {@link AdminOnly} provides it. */
export class CurrentAdmin extends Context.Service<CurrentAdmin, Identity>()(
  "sealgate/api/gateway/Authorization/CurrentAdmin",
) {}

/** A member does not fit its schema, or members contradict each other. */
export class RequestInvalid extends Refusal<RequestInvalid>()("RequestInvalid", {
  code: "invalid-request",
  status: 400,
  title: "The request does not have the expected shape.",
}) {}

/** Requires a key or token with the needed role (RFC 6750), and limits requests per tenant, key and client address. */
export class Authorization extends HttpApiMiddleware.Service<Authorization, { provides: CurrentUser }>()(
  "sealgate/api/gateway/Authorization",
  {
    requiredForClient: true,
    security: { bearer: HttpApiSecurity.http({ scheme: "bearer" }) },
    error: [
      RequestInvalid,
      TokenRefused,
      AccessDenied,
      StorageUnavailable,
      TimedOut,
      TooManyRequests,
      Internal,
      TokenKeysUnavailable,
      Draining,
    ],
  },
) {}

export class AdminOnly extends HttpApiMiddleware.Service<
  AdminOnly,
  { provides: CurrentAdmin; requires: CurrentUser }
>()("sealgate/api/gateway/Authorization/AdminOnly", { error: AccessDenied }) {}

/** The role that a request needs. Without this annotation, GET needs `read`, an execution `run`, and the rest `manage`. */
export const NeededRole = Context.Reference<Role | undefined>("sealgate/api/gateway/Authorization/NeededRole", {
  defaultValue: () => undefined,
})

/** The rate limit that a request counts against. Without this annotation, GET is `read` and everything else `write`. */
export const RateClass = Context.Reference<"read" | "write" | "execute" | undefined>(
  "sealgate/api/gateway/Authorization/RateClass",
  { defaultValue: () => undefined },
)
