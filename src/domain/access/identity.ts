/** The caller of a verified token, and refusals of callers. */
import { Schema } from "effect"
import { TenantId } from "../jobs/agent.ts"
import { Refusal } from "../problems/refusal.ts"
import type { TargetFilter } from "../upstream/targets.ts"
import type { BudgetList } from "./budgets.ts"
import type { KeyId } from "./keys.ts"
import { isStranger, Role } from "./roles.ts"

const Name = Schema.String.check(
  Schema.isPattern(/^[^\p{Cc}\p{Cs}]{1,255}$/u, { expected: "1 to 255 characters without control characters" }),
)

/** A user: the `sub` of a token. */
export const Subject = Name

const USER_TENANT_PREFIX = "user:"

/** A tenant: the `tenant` of a token, which cannot be the tenant of a user. */
export const ClaimedTenant = Name.check(
  Schema.makeFilter((name: string) => !name.startsWith(USER_TENANT_PREFIX), {
    message: `a tenant that does not begin with ${USER_TENANT_PREFIX}`,
  }),
).pipe(Schema.brand("TenantId"))

export const tenantOfUser = (subject: string): TenantId => TenantId.make(USER_TENANT_PREFIX + subject)

export interface KeyLimits {
  readonly id: KeyId
  /** The targets that its calls may use; `undefined` means all, as for the members below. */
  readonly models?: TargetFilter
  /** The only agents that it may see and use. */
  readonly agents?: ReadonlyArray<string>
  /** Each of its calls must fit all of them. */
  readonly budgets?: BudgetList
  readonly perMinute?: number
  /** How many of its jobs start for each job of a key without a weight. */
  readonly weight?: number
  readonly maxRunningJobs?: number
  /** Most of its model calls in flight in one process. */
  readonly maxCallsInFlight?: number
}

/** A caller: the bearer of a token, or the holder of a key. */
export interface Identity {
  /** The token's `sub`, or the key's name. */
  readonly subject: string
  /** Owner of the rows that the caller sees: the key's tenant, the token's `tenant` or, if users are tenants, that of the user. */
  readonly tenant: TenantId
  /** As the token or key names them. Absent if the token has no such claim. */
  readonly roles?: ReadonlyArray<string>
  /** Absent if the caller has a token. */
  readonly key?: KeyLimits
  /** When its token is no longer accepted, in milliseconds since the epoch. Absent if the caller has a key. */
  readonly until?: number
}

export const permitsAgent = ({ key }: Identity, agent: string): boolean =>
  key?.agents === undefined || key.agents.includes(agent)

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
  static readonly absent = () => new TokenRefused({ headers: challenge() })
}

export class TokenKeysUnavailable extends Refusal<TokenKeysUnavailable>()("TokenKeysUnavailable", {
  code: "token-keys-unavailable",
  status: 503,
  title: "The keys that tokens are checked with cannot be loaded right now; try again later.",
}) {}

export class AccessDenied extends Refusal<AccessDenied>()("AccessDenied", {
  code: "forbidden",
  status: 403,
  title: "The key or token may not do this.",
  headers: challenge("insufficient_scope"),
}) {
  static readonly lacking = (role: Role) => new AccessDenied({ detail: `This needs the role "${role}".` })
  /** The same, for a caller whose token may name no role at all. */
  static readonly of = (caller: Identity, role: Role) =>
    isStranger(caller)
      ? new AccessDenied({
          detail: `The token's claim "roles" names none of ${Role.literals.join(", ")}; correct it at its issuer.`,
        })
      : AccessDenied.lacking(role)
  /** Refuses sums over all agents to a key that is limited to some. */
  static readonly limited = () =>
    new AccessDenied({
      detail: "The key is limited to some agents, but this covers all agents of the tenant; use another key.",
    })
}
