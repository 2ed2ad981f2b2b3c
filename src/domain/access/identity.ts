/** The caller of a verified token, and refusals of callers. */
import { Schema } from "effect"
import { TenantId } from "../jobs/agent.ts"
import { Refusal } from "../problems/refusal.ts"

/** The role that may access the routing configuration. */
export const ADMIN_ROLE = "admin"

const Name = Schema.String.check(
  Schema.isPattern(/^[^\p{Cc}\p{Cs}]{1,255}$/u, { expected: "1 to 255 characters without control characters" }),
)

/** A user: the `sub` of a token. */
export const Subject = Name

const USER_TENANT_PREFIX = "user:"

/**
 * A tenant: the `tenant` of a token. The check keeps a token from claiming the tenant of a user.
 */
export const ClaimedTenant = Name.check(
  Schema.makeFilter((name: string) => !name.startsWith(USER_TENANT_PREFIX), {
    message: `a tenant that does not begin with ${USER_TENANT_PREFIX}`,
  }),
).pipe(Schema.brand("TenantId"))

/** The tenant of a user, if users are tenants. */
export const tenantOfUser = (subject: string): TenantId => TenantId.make(USER_TENANT_PREFIX + subject)

export interface Identity {
  /** The token's `sub`. */
  readonly subject: string
  /** Owner of the rows that the caller sees: the token's `tenant` or, if users are tenants, that of the user. */
  readonly tenant: TenantId
  readonly roles: ReadonlyArray<string>
}

/** The `WWW-Authenticate` of a refusal (RFC 6750 §3). Without a token, it names no error. */
const challenge = (error?: string) => ({
  "www-authenticate": `Bearer realm="sealgate"${error === undefined ? "" : `, error="${error}"`}`,
})

/** The token is missing or invalid. The reason stays secret, because it would help a forger. */
export class TokenRefused extends Refusal<TokenRefused>()("TokenRefused", {
  code: "unauthorized",
  status: 401,
  title: "A valid key or token is needed.",
  headers: challenge("invalid_token"),
}) {
  /** The refusal of a request without a token. */
  static readonly absent = () => new TokenRefused({ headers: challenge() })
}

/** The issuer's keys could not be loaded, so its tokens cannot be verified. */
export class TokenKeysUnavailable extends Refusal<TokenKeysUnavailable>()("TokenKeysUnavailable", {
  code: "token-keys-unavailable",
  status: 503,
  title: "The keys that tokens are checked with cannot be loaded right now; try again later.",
}) {}

/** The caller is authenticated but lacks permission. */
export class AccessDenied extends Refusal<AccessDenied>()("AccessDenied", {
  code: "forbidden",
  status: 403,
  title: `This needs the role "${ADMIN_ROLE}" in the token's roles.`,
  headers: challenge("insufficient_scope"),
}) {}
