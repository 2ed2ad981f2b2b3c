import { Effect } from "effect"
import { AccessDenied } from "../../domain/access/identity.ts"
import { ADMIN_ROLE, isNamed } from "../../domain/access/roles.ts"
import { CurrentUser } from "../../api/gateway/Authorization.ts"

/** The caller. Refuses keys that are limited to some agents. */
export const unlimitedUser = Effect.flatMap(CurrentUser, (user) =>
  user.key?.agents === undefined ? Effect.succeed(user) : Effect.fail(AccessDenied.limited()),
)

/** The tenant whose calls are asked for; `undefined` for all tenants. Refuses keys that are limited to some agents. */
export const tenantIn = Effect.fnUntraced(function* (scope: "tenant" | "all" = "tenant") {
  const user = yield* unlimitedUser
  const { tenant } = user
  const isAdmin = isNamed(user, ADMIN_ROLE)
  if (scope === "all" && !isAdmin) return yield* AccessDenied.lacking(ADMIN_ROLE)
  return { isAdmin, tenant: scope === "all" ? undefined : tenant }
})
