import { Effect } from "effect"
import { CurrentUser } from "../../api/gateway/Authorization.ts"
import { GatewayApi } from "../../api/gateway/GatewayApi.ts"
import { permitsAgent } from "../../domain/access/identity.ts"
import { AgentNotFound } from "../../domain/jobs/agent.ts"
import { ThreadNotFound } from "../../domain/jobs/thread.ts"
import { Audit } from "../../services/access/Audit.ts"
import { Threads } from "../../services/jobs/Threads.ts"
import { layerHandlers } from "../shared/layerHandlers.ts"

export const ThreadsHandlers = layerHandlers(
  GatewayApi,
  "threads",
  Effect.fn(function* (handlers) {
    const threads = yield* Threads
    const audit = yield* Audit

    /** The thread and the caller, if its key permits the thread's agent. */
    const found = Effect.fnUntraced(function* (id: string) {
      const user = yield* CurrentUser
      const thread = yield* threads.get(user.tenant, id)
      return permitsAgent(user, thread.agent_id) ? { thread, user } : yield* new ThreadNotFound()
    })

    return handlers.handleAll({
      create: Effect.fnUntraced(function* ({ payload: { agent_id } }) {
        const user = yield* CurrentUser
        if (!permitsAgent(user, agent_id)) return yield* new AgentNotFound()
        return yield* threads.create(user.tenant, agent_id)
      }),
      list: ({ query }) => Effect.flatMap(CurrentUser, ({ key, tenant }) => threads.list(tenant, query, key?.agents)),
      get: ({ params }) => Effect.map(found(params.id), ({ thread }) => thread),
      remove: Effect.fnUntraced(function* ({ params }) {
        const { thread, user } = yield* found(params.id)
        // Audited first: the thread may have more jobs than one transaction can delete in time. A repeated request
        // deletes the rest.
        yield* audit.noted(user, "thread.remove", Effect.void, () => thread.id)
        yield* threads.remove(user.tenant, thread.id)
      }),
    })
  }),
)
