/** Callers of an agent over A2A, and the tasks that they may see. */
import { Effect } from "effect"
import { AccessDenied, type Identity } from "../../../domain/access/identity.ts"
import { hasRole } from "../../../domain/access/roles.ts"
import type { Agent } from "../../../domain/jobs/agent.ts"
import { JobNotFound } from "../../../domain/jobs/job.ts"
import type { Jobs } from "../../../services/jobs/Jobs.ts"

/** A caller of an agent. */
export interface AgentCaller {
  readonly user: Identity
  readonly agent: Agent
}

export const needsRun = ({ user }: AgentCaller) => (hasRole(user, "run") ? Effect.void : AccessDenied.lacking("run"))

/** Returns a function that finds a task of the agent. */
export const makeJobOf = (jobs: Jobs["Service"]) =>
  Effect.fnUntraced(function* ({ agent, user }: AgentCaller, id: string) {
    const job = yield* jobs.get(user.tenant, id)
    return job.agent_id === agent.id ? job : yield* new JobNotFound()
  })
