/** Who calls, as a verified token says it, and what they may not do. */
import { Schema } from "effect"
import { TenantId } from "../jobs/agent.ts"
import { Refusal } from "../problems/refusal.ts"

/** The role that opens the routing configuration. */
export const ADMIN_ROLE = "admin"

const Name = Schema.String.check(
  Schema.isPattern(/^[^\p{Cc}\p{Cs}]{1,255}$/u, { expected: "1 to 255 characters without control characters" }),
)

/** A user, as the `sub` of a token names one. */
export const Subject = Name

const USER_TENANT_PREFIX = "user:"

/**
 * A tenant, as the `tenant` of a token names it. The check keeps a token from naming the tenant that stands for a user.
 */
export const ClaimedTenant = Name.check(
  Schema.makeFilter((name: string) => !name.startsWith(USER_TENANT_PREFIX), {
    message: `a tenant that does not begin with ${USER_TENANT_PREFIX}`,
  }),
).pipe(Schema.brand("TenantId"))

/** The tenant that a user is, where users are tenants. */
export const tenantOfUser = (subject: string): TenantId => TenantId.make(USER_TENANT_PREFIX + subject)

export interface Identity {
  /** The token's `sub`. */
  readonly subject: string
  /** Whose rows the caller sees: the token's `tenant` or, where users are tenants, the user's own. */
  readonly tenant: TenantId
  readonly roles: ReadonlyArray<string>
}

/** The `WWW-Authenticate` of a refusal (RFC 6750 §3). It names no error for a caller who sent no token. */
const challenge = (error?: string) => ({
  "www-authenticate": `Bearer realm="sealgate"${error === undefined ? "" : `, error="${error}"`}`,
})

/** There is no token, or it does not count here. Nobody is told why, because the reason would help only a forger. */
export class TokenRefused extends Refusal<TokenRefused>()("TokenRefused", {
  code: "unauthorized",
  status: 401,
  title: "A valid key or token is needed.",
  headers: challenge("invalid_token"),
}) {
  /** Without any token at all. */
  static readonly absent = () => new TokenRefused({ headers: challenge() })
}

/** The issuer's keys could not be loaded, so none of its tokens can be checked. */
export class TokenKeysUnavailable extends Refusal<TokenKeysUnavailable>()("TokenKeysUnavailable", {
  code: "token-keys-unavailable",
  status: 503,
  title: "The keys that tokens are checked with cannot be loaded right now; try again later.",
}) {}

/** The caller is known and may not do this. */
export class AccessDenied extends Refusal<AccessDenied>()("AccessDenied", {
  code: "forbidden",
  status: 403,
  title: `This needs the role "${ADMIN_ROLE}" in the token's roles.`,
  headers: challenge("insufficient_scope"),
}) {}
