/** Roles of callers. Each includes those before it. */
import { Schema } from "effect"

export const Role = Schema.Literals(["read", "run", "manage", "admin"])
export type Role = typeof Role.Type

/** The role that may access the routing configuration and the audit trail. */
export const ADMIN_ROLE = "admin" satisfies Role

/** The role of a token without the claim, which an identity provider unaware of the gateway issues. */
const UNCLAIMED: Role = "manage"

interface Holder {
  /** The roles as the token or key names them, without unknown ones. Absent if a token lacks the claim. */
  readonly roles?: ReadonlyArray<string>
}

const rank = (role: Role): number => Role.literals.indexOf(role)

const highest = ({ roles }: Holder): Role | undefined => Role.literals.findLast((role) => roles?.includes(role))

const includes = (held: Role | undefined, needed: Role): boolean => held !== undefined && rank(held) >= rank(needed)

/** Whether the caller has the role, by name or because its token has no claim of roles. */
export const hasRole = (holder: Holder, needed: Role): boolean =>
  includes(holder.roles === undefined ? UNCLAIMED : highest(holder), needed)

/** Whether the caller's roles name it. Keys outlive tokens, so tokens without roles manage no keys. */
export const isNamed = (holder: Holder, needed: Role): boolean => includes(highest(holder), needed)

/** Whether a token has a claim of roles that names none of them, such as a misspelt one. */
export const isStranger = (holder: Holder): boolean => holder.roles !== undefined && highest(holder) === undefined
