import { Effect, Schema } from "effect"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import { type Agent, agentETag, AgentId, AgentNotFound } from "../../domain/agent.ts"
import { Agents } from "../../services/agents/Agents.ts"
import { Jobs } from "../../services/jobs/Jobs.ts"
import { GatewayApi } from "../../api/gateway/GatewayApi.ts"
import { CurrentUser } from "../../api/gateway/Authorization.ts"
import { answered } from "./problems.ts"

/** When a new job is worth asking for, in seconds. */
const POLL_AFTER_SECONDS = 1

const isAgentId = Schema.is(AgentId)
/** What cannot be an id is no agent's. */
const agentId = (id: string) => (isAgentId(id) ? Effect.succeed(id) : new AgentNotFound({ id }))

const withTag = (agent: Agent) => HttpApiSchema.withHeaders({ body: agent, headers: { etag: agentETag(agent) } })

export const AgentsHandlers = HttpApiBuilder.group(
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
      const job = yield* jobs.enqueue(tenant, yield* agentId(id), payload, key)
      return HttpApiSchema.withHeaders({
        body: job,
        headers: { location: `/api/v1/jobs/${job.id}`, "retry-after": POLL_AFTER_SECONDS },
      })
    })

    return handlers.handleAll({
      create: ({ payload }) => answered(create(payload)),
      list: ({ query }) => answered(Effect.flatMap(CurrentUser, ({ tenant }) => agents.list(tenant, query))),
      get: ({ params }) =>
        answered(
          Effect.gen(function* () {
            const { tenant } = yield* CurrentUser
            return withTag(yield* agents.get(tenant, yield* agentId(params.id)))
          }),
        ),
      update: ({ headers, params, payload }) =>
        answered(
          Effect.gen(function* () {
            const { tenant } = yield* CurrentUser
            return withTag(yield* agents.update(tenant, yield* agentId(params.id), payload, headers["if-match"]))
          }),
        ),
      remove: ({ headers, params }) =>
        answered(
          Effect.gen(function* () {
            const { tenant } = yield* CurrentUser
            yield* agents.remove(tenant, yield* agentId(params.id), headers["if-match"])
          }),
        ),
      execute: ({ headers, params, payload }) => answered(execute(params.id, payload, headers["idempotency-key"])),
    })
  }),
)
