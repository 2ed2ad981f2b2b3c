import { Effect } from "effect"
import { permitsAgent } from "../../domain/access/identity.ts"
import { JobNotFound } from "../../domain/jobs/job.ts"
import type { Jobs } from "../../services/jobs/Jobs.ts"
import { CurrentUser } from "../../api/gateway/Authorization.ts"

/** Returns the caller, if its key permits the job's agent: other jobs are answered like missing ones. */
export const makeJobUser = (jobs: Jobs["Service"]) =>
  Effect.fnUntraced(function* (id: string) {
    const user = yield* CurrentUser
    if (user.key?.agents === undefined) return user
    const { agent_id } = yield* jobs.get(user.tenant, id)
    return permitsAgent(user, agent_id) ? user : yield* new JobNotFound()
  })
