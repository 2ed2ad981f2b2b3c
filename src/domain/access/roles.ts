/** Roles of callers. Each includes those before it. */
import { Schema } from "effect"

export const Role = Schema.Literals(["read", "run", "manage", "admin"])
export type Role = typeof Role.Type

/** The role that may access the routing configuration and the audit trail. */
export const ADMIN_ROLE = "admin" satisfies Role

/** The role of a token that names none of the roles: identity providers that know no gateway send none. */
const UNNAMED: Role = "manage"

interface Holder {
  /** The roles as the token or key names them; others are ignored. */
  readonly roles: ReadonlyArray<string>
}

const rank = (role: Role): number => Role.literals.indexOf(role)

const highest = ({ roles }: Holder): Role | undefined => Role.literals.findLast((role) => roles.includes(role))

/** Whether the caller has the role, by name or because its token names no role. */
export const hasRole = (holder: Holder, needed: Role): boolean => rank(highest(holder) ?? UNNAMED) >= rank(needed)

/** Whether the caller has the role by name: keys outlive tokens, so a token without roles manages none. */
export const isNamed = (holder: Holder, needed: Role): boolean => {
  const named = highest(holder)
  return named !== undefined && rank(named) >= rank(needed)
}
