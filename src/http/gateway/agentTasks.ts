/** Tasks that callers give an agent by its name or id, and wait for. */
import { type Duration, Effect } from "effect"
import type { Identity } from "../../domain/access/identity.ts"
import { type ExecuteRequest, type IdempotencyKey, isEnded, type Job } from "../../domain/jobs/job.ts"
import { mayExecute } from "../../services/access/mayExecute.ts"
import { Agents } from "../../services/agents/Agents.ts"
import { Jobs } from "../../services/jobs/Jobs.ts"
import { Drain } from "../../services/lifecycle/Drain.ts"
import { makeWaitingPlace } from "./waitingPlace.ts"
import { makeWhileAllowed } from "./whileAllowed.ts"

interface AgentTask {
  /** The agent's name or id. */
  readonly agent: string
  readonly request: ExecuteRequest
  readonly key: typeof IdempotencyKey.Type | undefined
  readonly waits: boolean
}

export const makeAgentTasks = Effect.gen(function* () {
  const agents = yield* Agents
  const jobs = yield* Jobs
  const drain = yield* Drain
  const place = yield* makeWaitingPlace
  const whileAllowed = yield* makeWhileAllowed

  return {
    give: Effect.fnUntraced(function* (user: Identity, { agent, key, request, waits }: AgentTask) {
      const { id } = yield* agents.named(user.tenant, agent, user.key?.agents)
      yield* mayExecute(user, id, request)
      // Checked before the job exists: a refused caller would send the task again, and pay again.
      if (waits) yield* place(user.tenant)
      return yield* jobs.enqueue(user.tenant, id, request, key, user.key)
    }),
    /** The job once it has ended, or as it is after the wait or when a shutdown begins. */
    waited: (user: Identity, job: Job, wait: Duration.Duration) =>
      isEnded(job.status)
        ? Effect.succeed(job)
        : whileAllowed.answer(user)(jobs.wait(user.tenant, job.id, wait, drain.begun)),
  }
})
