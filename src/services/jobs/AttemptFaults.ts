/** The causes of failed attempts at jobs, to log when each begins and ends. */
import { Duration } from "effect"
import type { JobId } from "../../domain/jobs/job.ts"
import { makeRepeats, REPEAT } from "../upstream/Faults.ts"

/** The most jobs that are remembered for a cause. */
const REMEMBERED = 100

/** A cause, from its first failure until it is over. Times are in milliseconds since the epoch. */
interface Cause {
  readonly since: number
  latest: number
  failed: number
  /** Some of the jobs that failed, and may be retried. */
  readonly jobs: Set<JobId>
}

interface Ended {
  readonly code: string
  readonly failed: number
  readonly after_s: number
}

export class AttemptFaults {
  /** By the code of the problem, of which there are few. Causes whose beginning was logged. */
  private readonly causes = new Map<string, Cause>()
  private readonly isDueAt = makeRepeats()

  /** Notes a failed attempt. Returns whether its cause begins, and was not logged for a while. */
  failed(job: JobId, code: string, now: number): boolean {
    const known = this.causes.get(code)
    if (known !== undefined) {
      known.latest = now
      known.failed++
      if (known.jobs.size < REMEMBERED) known.jobs.add(job)
      return false
    }
    if (!this.isDueAt(now, code)) return false
    this.causes.set(code, { since: now, latest: now, failed: 1, jobs: new Set([job]) })
    return true
  }

  /** Notes a successful attempt. Returns the causes that are over: this job had failed for them, or none did for a while. */
  succeeded(job: JobId, now: number): ReadonlyArray<Ended> {
    const ended = [...this.causes].filter(
      ([, { jobs, latest }]) => jobs.has(job) || now - latest >= Duration.toMillis(REPEAT),
    )
    for (const [code] of ended) this.causes.delete(code)
    return ended.map(([code, { failed, since }]) => ({ code, failed, after_s: Math.round((now - since) / 1000) }))
  }
}
