/** Callers of an agent over A2A, and the tasks that they may see. */
import { Effect } from "effect"
import type { Identity } from "../../../domain/access/identity.ts"
import type { Agent } from "../../../domain/jobs/agent.ts"
import { JobNotFound } from "../../../domain/jobs/job.ts"
import { mayExecute } from "../../../services/access/mayExecute.ts"
import type { Jobs } from "../../../services/jobs/Jobs.ts"

export interface AgentCaller {
  readonly user: Identity
  readonly agent: Agent
}

export const needsRun = ({ agent, user }: AgentCaller) => mayExecute(user, agent.id, {})

export const makeJobOf = (jobs: Jobs["Service"]) =>
  Effect.fnUntraced(function* ({ agent, user }: AgentCaller, id: string) {
    const job = yield* jobs.get(user.tenant, id)
    return job.agent_id === agent.id ? job : yield* new JobNotFound()
  })
