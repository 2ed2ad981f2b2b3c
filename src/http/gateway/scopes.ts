import { Effect } from "effect"
import { AccessDenied } from "../../domain/access/identity.ts"
import { ADMIN_ROLE } from "../../domain/access/roles.ts"
import { CurrentUser } from "../../api/gateway/Authorization.ts"

/** The tenant whose calls are asked for; `undefined` for all tenants. Refuses keys of some agents. */
export const tenantIn = Effect.fnUntraced(function* (scope: "tenant" | "all" = "tenant") {
  const { key, roles, tenant } = yield* CurrentUser
  if (key?.agents !== undefined) return yield* AccessDenied.limited()
  const isAdmin = roles.includes(ADMIN_ROLE)
  if (scope === "all" && !isAdmin) return yield* AccessDenied.lacking(ADMIN_ROLE)
  return { isAdmin, tenant: scope === "all" ? undefined : tenant }
})
