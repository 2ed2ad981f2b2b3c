import { Effect } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { AccessDenied, type Identity } from "../../domain/access/identity.ts"
import { keyIssues, type StoredKey } from "../../domain/access/keys.ts"
import { ADMIN_ROLE, isNamed } from "../../domain/access/roles.ts"
import { GatewayApi } from "../../api/gateway/GatewayApi.ts"
import { CurrentUser, RequestInvalid } from "../../api/gateway/Authorization.ts"
import { Audit } from "../../services/access/Audit.ts"
import { GatewayKeys } from "../../services/access/GatewayKeys.ts"
import { JobQueue } from "../../services/jobs/JobQueue.ts"
import { layerHandlers } from "../shared/layerHandlers.ts"

/** The caller, who must be a manager by name. */
const manager = Effect.flatMap(CurrentUser, (user) =>
  isNamed(user, "manage") ? Effect.succeed(user) : Effect.fail(AccessDenied.lacking("manage")),
)

type Checked = Pick<StoredKey, "agents" | "budgets" | "models" | "roles">

/** Managers handle no administrators' keys: they could make themselves administrators. */
const mayHandle = (user: Identity, { roles }: Pick<Checked, "roles">) =>
  roles.includes(ADMIN_ROLE) && !isNamed(user, ADMIN_ROLE) ? Effect.fail(AccessDenied.lacking(ADMIN_ROLE)) : Effect.void

const check = Effect.fnUntraced(function* (user: Identity, key: Checked) {
  yield* mayHandle(user, key)
  const errors = keyIssues(key, "payload")
  if (errors.length > 0) return yield* new RequestInvalid({ errors })
})

export const KeysHandlers = layerHandlers(
  GatewayApi,
  "keys",
  Effect.fn(function* (handlers) {
    const keys = yield* GatewayKeys
    const audit = yield* Audit
    const queue = yield* JobQueue

    return handlers.handleAll({
      create: Effect.fnUntraced(function* ({ payload }) {
        const user = yield* manager
        yield* check(user, payload)
        const created = keys.create(user.tenant, user.subject, payload)
        const key = yield* audit.noted(user, "key.create", created, ({ id }) => id)
        return HttpApiSchema.withHeaders({ body: key, headers: { location: `/api/v1/keys/${key.id}` } })
      }),
      list: ({ query }) => Effect.flatMap(manager, ({ tenant }) => keys.list(tenant, query)),
      get: ({ params }) => Effect.flatMap(manager, ({ tenant }) => keys.get(tenant, params.id)),
      update: Effect.fnUntraced(function* ({ params, payload }) {
        const user = yield* manager
        const updated = keys.update(user.tenant, params.id, payload, (before, after) =>
          Effect.andThen(mayHandle(user, before), check(user, after)),
        )
        return yield* audit
          .noted(user, "key.update", updated, ({ id }) => id)
          .pipe(
            Effect.tap(({ id }) => (payload.max_running_jobs === undefined ? Effect.void : queue.cap(user.tenant, id))),
            // Uninterruptible, so that open jobs get the new cap even if the caller disconnects.
            Effect.uninterruptible,
          )
      }),
      revoke: Effect.fnUntraced(function* ({ params }) {
        const user = yield* manager
        yield* mayHandle(user, yield* keys.get(user.tenant, params.id))
        yield* audit.noted(user, "key.revoke", keys.revoke(user.tenant, params.id), () => params.id)
      }),
    })
  }),
)
