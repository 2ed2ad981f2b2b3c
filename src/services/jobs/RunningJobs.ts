/** The jobs that this process works on, and whether it still holds their leases. */
import { Clock, Deferred, Duration, Effect, Exit, Result } from "effect"
import type { TenantId } from "../../domain/jobs/agent.ts"
import type { JobId } from "../../domain/jobs/job.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import { momentOf } from "../moments.ts"
import { JobSettings } from "./JobSettings.ts"
import { JobSignals } from "./JobSignals.ts"
import type { StopReason } from "./JobSteps.ts"
import { JobWrites } from "./JobWrites.ts"
import type { Lease } from "./Lease.ts"

export class RunningJob {
  readonly lease: Lease
  /** Moment (see `moments.ts`) at which the lease was last known to be held. */
  heldAt: number
  private readonly reason = Deferred.makeUnsafe<StopReason, StorageUnavailable>()
  /** Waits until the program must stop. Fails if the lease could not be checked or a step could not be stored. */
  readonly stopped = Deferred.await(this.reason)

  constructor(lease: Lease, heldAt: number) {
    this.lease = lease
    this.heldAt = heldAt
  }

  /** Stops the program. The first reason counts. */
  readonly stop = (why: Exit.Exit<StopReason, StorageUnavailable>): void => {
    Deferred.doneUnsafe(this.reason, why)
  }
}

export const makeRunningJobs = Effect.gen(function* () {
  const writes = yield* JobWrites
  const signals = yield* JobSignals
  const settings = yield* JobSettings
  const clock = yield* Clock.Clock
  const fork = Effect.runForkWith(yield* Effect.context())
  const jobs = new Map<JobId, RunningJob>()
  let stopSignals = 0

  /** Renews the leases of these jobs, and stops the jobs whose lease is lost. Returns whether the database answered. */
  const check = Effect.fnUntraced(function* (checked: ReadonlyArray<RunningJob>) {
    const renewed = yield* Effect.result(writes.renew(checked.map(({ lease }) => lease)))
    const now = momentOf(clock)
    for (const job of checked) {
      if (Result.isSuccess(renewed)) {
        if (renewed.success.has(job.lease.job.id)) job.heldAt = now
        else job.stop(GONE)
      } else if (now - job.heldAt >= Duration.toMillis(settings.lease)) {
        // The database has been away for a whole lease: another worker may hold the job by now.
        job.stop(Exit.fail(renewed.failure))
      }
    }
    return Result.isSuccess(renewed)
  })

  yield* signals.listen((topic) => {
    if (!topic.startsWith(STOPPED)) return
    stopSignals++
    const job = jobs.get(topic.slice(STOPPED.length) as JobId)
    if (job !== undefined) fork(check([job]))
  })

  return {
    check,
    checkAll: Effect.suspend(() => check([...jobs.values()])),
    ids: () => jobs.keys(),
    count: () => jobs.size,
    /** Number of stop signals so far, for any job. */
    stopSignals: () => stopSignals,
    perTenant: () => {
      const counts = new Map<TenantId, number>()
      for (const { lease } of jobs.values()) countTenant(counts, lease)
      return counts
    },
    add: (lease: Lease): RunningJob => {
      const job = new RunningJob(lease, momentOf(clock))
      // Stops an earlier attempt of this process, whose lease was lost and claimed again before it noticed.
      jobs.get(lease.job.id)?.stop(GONE)
      jobs.set(lease.job.id, job)
      return job
    },
    remove: (job: RunningJob): void => {
      const { id } = job.lease.job
      if (jobs.get(id) === job) jobs.delete(id)
    },
  }
})

export const countTenant = (counts: Map<TenantId, number>, { job: { tenant } }: Lease): void => {
  counts.set(tenant, (counts.get(tenant) ?? 0) + 1)
}

const GONE: Exit.Exit<StopReason> = Exit.succeed("gone")

const STOPPED = "stopped:"
