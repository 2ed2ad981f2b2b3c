/**
 * Checks whether a caller may resume a job. A resumed job spends the budgets and limits of the key that enqueued it, so
 * others could spend that key's money. An answer to a job's question needs no check, because an open job continues
 * anyway.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { AccessDenied, type Identity } from "../../domain/access/identity.ts"
import { hasRole } from "../../domain/access/roles.ts"
import { JobKeyRefused } from "../../domain/jobs/job.ts"
import { GatewayKeys } from "../access/GatewayKeys.ts"
import { whoMayExecute } from "../access/mayExecute.ts"
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
    const holder = yield* keys.holder(user.tenant, key).pipe(whoMayExecute(agent_id, { priority }))
    if (holder === undefined) return yield* new JobKeyRefused()
  })
})
