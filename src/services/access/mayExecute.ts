/** Checks whether a caller, or the key of a schedule or job, may give an agent a task. */
import { Effect } from "effect"
import { AccessDenied, type Identity, permitsAgent } from "../../domain/access/identity.ts"
import { hasRole } from "../../domain/access/roles.ts"
import { AgentNotFound } from "../../domain/jobs/agent.ts"
import type { ExecuteRequest } from "../../domain/jobs/job.ts"
import type { GatewayKeys } from "./GatewayKeys.ts"

/** Fails if the caller may not give the agent the request. An agent that its key does not permit is answered like a missing one. */
export const mayExecute = Effect.fnUntraced(function* (
  user: Identity,
  agent: string,
  { priority }: Pick<ExecuteRequest, "priority">,
) {
  if (!hasRole(user, "run")) return yield* AccessDenied.of(user, "run")
  if (!permitsAgent(user, agent)) return yield* new AgentNotFound()
  if (priority === "high" && !hasRole(user, "manage")) return yield* AccessDenied.lacking("manage")
})

/** Gives the holder of a key, or `undefined` if the key is gone or its holder may not give the agent the request. */
export const whoMayExecute =
  (agent: string, request: Pick<ExecuteRequest, "priority">) =>
  (holder: ReturnType<GatewayKeys["Service"]["holder"]>) =>
    holder.pipe(
      Effect.tap((user) => mayExecute(user, agent, request)),
      Effect.catchTag(["KeyNotFound", "TokenRefused", "AccessDenied", "AgentNotFound"], () => Effect.undefined),
    )
