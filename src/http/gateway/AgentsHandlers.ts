import { Effect } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { type Agent, agentETag } from "../../domain/jobs/agent.ts"
import { Agents } from "../../services/agents/Agents.ts"
import { Jobs } from "../../services/jobs/Jobs.ts"
import { GatewayApi } from "../../api/gateway/GatewayApi.ts"
import { CurrentUser } from "../../api/gateway/Authorization.ts"
import { layerHandlers } from "../shared/layerHandlers.ts"

/** `Retry-After` of a new job. */
const POLL_AFTER_SECONDS = 1

const withTag = (agent: Agent) => HttpApiSchema.withHeaders({ body: agent, headers: { etag: agentETag(agent) } })

export const AgentsHandlers = layerHandlers(
  GatewayApi,
  "agents",
  Effect.fn(function* (handlers) {
    const agents = yield* Agents
    const jobs = yield* Jobs

    const create = Effect.fnUntraced(function* (payload: Parameters<typeof agents.create>[1]) {
      const { tenant } = yield* CurrentUser
      const agent = yield* agents.create(tenant, payload)
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
      const { tenant } = yield* CurrentUser
      const job = yield* jobs.enqueue(tenant, id, payload, key)
      return HttpApiSchema.withHeaders({
        body: job,
        headers: { location: `/api/v1/jobs/${job.id}`, "retry-after": POLL_AFTER_SECONDS },
      })
    })

    return handlers.handleAll({
      create: ({ payload }) => create(payload),
      list: ({ query }) => Effect.flatMap(CurrentUser, ({ tenant }) => agents.list(tenant, query)),
      get: Effect.fnUntraced(function* ({ params }) {
        const { tenant } = yield* CurrentUser
        return withTag(yield* agents.get(tenant, params.id))
      }),
      update: Effect.fnUntraced(function* ({ headers, params, payload }) {
        const { tenant } = yield* CurrentUser
        return withTag(yield* agents.update(tenant, params.id, payload, headers["if-match"]))
      }),
      remove: Effect.fnUntraced(function* ({ headers, params }) {
        const { tenant } = yield* CurrentUser
        yield* agents.remove(tenant, params.id, headers["if-match"])
      }),
      execute: ({ headers, params, payload }) => execute(params.id, payload, headers["idempotency-key"]),
    })
  }),
)
