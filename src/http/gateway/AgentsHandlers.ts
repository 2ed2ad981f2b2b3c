import { Effect } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { budgetIssues, type BudgetList } from "../../domain/access/budgets.ts"
import { permitsAgent } from "../../domain/access/identity.ts"
import { type Agent, AgentNotFound, agentETag } from "../../domain/jobs/agent.ts"
import { Audit } from "../../services/access/Audit.ts"
import { mayExecute } from "../../services/access/mayExecute.ts"
import { Agents } from "../../services/agents/Agents.ts"
import { Jobs } from "../../services/jobs/Jobs.ts"
import { makeCheckMode } from "../../services/jobs/modes/own/OwnModes.ts"
import { Webhooks } from "../../services/webhooks/Webhooks.ts"
import { GatewayApi } from "../../api/gateway/GatewayApi.ts"
import { CurrentUser, RequestInvalid } from "../../api/gateway/Authorization.ts"
import { layerHandlers } from "../shared/layerHandlers.ts"

/** The caller, if its key permits the agent: others are answered like missing ones. */
const userOf = (agent: string) =>
  Effect.flatMap(CurrentUser, (user) =>
    permitsAgent(user, agent) ? Effect.succeed(user) : Effect.fail(new AgentNotFound()),
  )

const checkBudgets = ({ budgets }: { readonly budgets?: BudgetList | null }) => {
  const errors = budgetIssues(budgets ?? [], "payload.budgets")
  return errors.length > 0 ? Effect.fail(new RequestInvalid({ errors })) : Effect.void
}

const POLL_AFTER_SECONDS = 1

const withTag = (agent: Agent) => HttpApiSchema.withHeaders({ body: agent, headers: { etag: agentETag(agent) } })

export const AgentsHandlers = layerHandlers(
  GatewayApi,
  "agents",
  Effect.fn(function* (handlers) {
    const agents = yield* Agents
    const jobs = yield* Jobs
    const audit = yield* Audit
    const webhooks = yield* Webhooks
    const checkMode = yield* makeCheckMode

    const create = Effect.fnUntraced(function* (payload: Parameters<typeof agents.create>[1]) {
      const user = yield* CurrentUser
      yield* checkBudgets(payload)
      yield* checkMode(payload.default_mode)
      yield* webhooks.check(user.tenant, payload.webhook_url)
      const agent = yield* audit.noted(user, "agent.create", agents.create(user.tenant, payload), ({ id }) => id)
      return HttpApiSchema.withHeaders({
        body: agent,
        headers: { location: `/api/v1/agents/${agent.id}`, etag: agentETag(agent) },
      })
    })

    const execute = Effect.fnUntraced(function* (
      id: string,
      payload: Parameters<typeof jobs.enqueue>[2],
      key: Parameters<typeof jobs.enqueue>[3],
    ) {
      const user = yield* CurrentUser
      yield* mayExecute(user, id, payload)
      yield* webhooks.check(user.tenant, payload.webhook_url)
      const job = yield* jobs.enqueue(user.tenant, id, payload, key, user.key)
      return HttpApiSchema.withHeaders({
        body: job,
        headers: { location: `/api/v1/jobs/${job.id}`, "retry-after": POLL_AFTER_SECONDS },
      })
    })

    return handlers.handleAll({
      create: ({ payload }) => create(payload),
      list: ({ query }) => Effect.flatMap(CurrentUser, ({ key, tenant }) => agents.list(tenant, query, key?.agents)),
      get: Effect.fnUntraced(function* ({ params }) {
        const { tenant } = yield* userOf(params.id)
        return withTag(yield* agents.get(tenant, params.id))
      }),
      update: Effect.fnUntraced(function* ({ headers, params, payload }) {
        const user = yield* userOf(params.id)
        yield* checkBudgets(payload)
        yield* checkMode(payload.default_mode)
        yield* webhooks.check(user.tenant, payload.webhook_url)
        const change = agents.update(user.tenant, params.id, payload, headers["if-match"])
        return withTag(yield* audit.noted(user, "agent.update", change, ({ id }) => id))
      }),
      remove: Effect.fnUntraced(function* ({ headers, params }) {
        const user = yield* userOf(params.id)
        const change = agents.remove(user.tenant, params.id, headers["if-match"])
        yield* audit.noted(user, "agent.remove", change, () => params.id)
      }),
      execute: ({ headers, params, payload }) => execute(params.id, payload, headers["idempotency-key"]),
    })
  }),
)
