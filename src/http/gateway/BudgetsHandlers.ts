import { Effect } from "effect"
import { type Budgeted, budgetIssues } from "../../domain/access/budgets.ts"
import { AccessDenied, permitsAgent } from "../../domain/access/identity.ts"
import { isNamed } from "../../domain/access/roles.ts"
import { AgentNotFound } from "../../domain/jobs/agent.ts"
import { GatewayApi } from "../../api/gateway/GatewayApi.ts"
import { CurrentAdmin, CurrentUser, RequestInvalid } from "../../api/gateway/Authorization.ts"
import { Audit } from "../../services/access/Audit.ts"
import { GatewayKeys } from "../../services/access/GatewayKeys.ts"
import { TenantBudgets } from "../../services/access/TenantBudgets.ts"
import { Agents } from "../../services/agents/Agents.ts"
import { Budgets } from "../../services/budgets/Budgets.ts"
import { layerHandlers } from "../shared/layerHandlers.ts"

export const BudgetsHandlers = layerHandlers(
  GatewayApi,
  "budgets",
  Effect.fn(function* (handlers) {
    const agents = yield* Agents
    const audit = yield* Audit
    const budgets = yield* Budgets
    const keys = yield* GatewayKeys
    const tenants = yield* TenantBudgets

    const budgetsOf = Effect.fnUntraced(function* ({ agent, key }: { readonly agent?: string; readonly key?: string }) {
      const user = yield* CurrentUser
      const { tenant } = user
      const found: Array<Budgeted> = []
      if (key !== undefined) {
        if (user.key?.id !== key && !isNamed(user, "manage")) return yield* AccessDenied.lacking("manage")
        const { budgets = [] } = yield* keys.get(tenant, key)
        found.push({ owner: { kind: "key", id: key }, budgets })
      }
      if (agent !== undefined) {
        if (!permitsAgent(user, agent)) return yield* new AgentNotFound()
        const { budgets = [] } = yield* agents.get(tenant, agent)
        found.push({ owner: { kind: "agent", id: agent }, budgets })
      }
      if (found.length > 0) return found
      // A key limited to some agents may not read the spending of the whole tenant.
      if (user.key?.agents !== undefined) return yield* AccessDenied.limited()
      return [{ owner: { kind: "tenant" as const, id: tenant }, budgets: yield* tenants.get(tenant) }]
    })

    return handlers.handleAll({
      get: ({ query }) =>
        Effect.flatMap(budgetsOf(query), (budgeted) => Effect.map(budgets.report(budgeted), (items) => ({ items }))),
      put: Effect.fnUntraced(function* ({ payload }) {
        const admin = yield* CurrentAdmin
        const errors = budgetIssues(payload.budgets, "payload.budgets")
        if (errors.length > 0) return yield* new RequestInvalid({ errors })
        yield* audit.noted(admin, "budgets.put", tenants.put(admin.tenant, payload.budgets), () => admin.tenant)
        const owner = { kind: "tenant" as const, id: admin.tenant }
        return { items: yield* budgets.report([{ owner, budgets: payload.budgets }]) }
      }),
    })
  }),
)
