import { Effect } from "effect"
import type { Identity } from "../../domain/access/identity.ts"
import { Audit } from "../../services/access/Audit.ts"
import { Jobs } from "../../services/jobs/Jobs.ts"

/** Returns a function that cancels a job and returns it. A job that had ended stays as it is, without an entry in the audit trail. */
export const makeCancelJob = Effect.gen(function* () {
  const audit = yield* Audit
  const jobs = yield* Jobs
  return Effect.fnUntraced(function* (user: Identity, id: string) {
    const cancelled = jobs.cancel(user.tenant, id)
    const { job } = yield* audit.noted(user, "job.cancel", cancelled, ({ job, wasOpen }) =>
      wasOpen ? job.id : undefined,
    )
    return job
  })
})
