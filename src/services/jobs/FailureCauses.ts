/** Causes of failed attempts at jobs. The begin and the end of a cause are logged, not each failure. */
import { Duration } from "effect"
import type { JobId } from "../../domain/jobs/job.ts"
import { makeRepeats, REPEAT } from "../upstream/Faults.ts"

/** Most jobs remembered per cause. */
const REMEMBERED = 100

/** A cause between its first failure and its end. Times are in milliseconds since the epoch. */
interface Cause {
  readonly since: number
  latest: number
  failed: number
  /** Up to {@link REMEMBERED} of the jobs that failed. */
  readonly jobs: Set<JobId>
}

interface Ended {
  readonly code: string
  readonly failed: number
  readonly after_s: number
}

export class FailureCauses {
  /** Causes whose begin was logged, by problem code. */
  private readonly causes = new Map<string, Cause>()
  private readonly isDueAt = makeRepeats()

  /** Notes a failed attempt. Returns whether to log that its cause begins: at most once per {@link REPEAT}. */
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

  /** Notes a successful attempt. Returns the causes that ended: this job had failed by them, or no job has for {@link REPEAT}. */
  succeeded(job: JobId, now: number): ReadonlyArray<Ended> {
    const ended = [...this.causes].filter(
      ([, { jobs, latest }]) => jobs.has(job) || now - latest >= Duration.toMillis(REPEAT),
    )
    for (const [code] of ended) this.causes.delete(code)
    return ended.map(([code, { failed, since }]) => ({ code, failed, after_s: Math.round((now - since) / 1000) }))
  }
}
