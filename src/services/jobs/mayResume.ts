/**
 * Who may resume a job: it goes on with the limits of the key that it was enqueued with, and that key pays. An answer to its
 * question needs no such check: the job is open, and goes on as it would at the question's deadline.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { AccessDenied, type Identity } from "../../domain/access/identity.ts"
import { hasRole } from "../../domain/access/roles.ts"
import { JobKeyRefused } from "../../domain/jobs/job.ts"
import { GatewayKeys } from "../access/GatewayKeys.ts"
import { mayExecute } from "../access/mayExecute.ts"
import { unavailable } from "../storedRows.ts"
import { Jobs } from "./Jobs.ts"

/** Returns a function that fails if the caller may not resume the job, or its key could not run it now. */
export const makeMayResume = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const jobs = yield* Jobs
  const keys = yield* GatewayKeys
  return Effect.fnUntraced(function* (user: Identity, id: string) {
    const { agent_id, id: job, priority } = yield* jobs.get(user.tenant, id)
    const [{ key } = { key: null }] = yield* unavailable(
      sql<{ key: string | null }>`SELECT key_id AS key FROM jobs WHERE id = ${job}`,
    )
    if (key !== (user.key?.id ?? null) && !hasRole(user, "manage")) {
      return yield* new AccessDenied({
        detail: 'Resume the job with the key that gave the task, or the role "manage".',
      })
    }
    if (key === null) return
    yield* keys.holder(user.tenant, key).pipe(
      Effect.flatMap((holder) => mayExecute(holder, agent_id, { priority })),
      Effect.catchTag(["KeyNotFound", "TokenRefused", "AccessDenied", "AgentNotFound"], () => new JobKeyRefused()),
    )
  })
})
