/** What is counted about durable jobs. All labels have few values: states, modes, outcomes. */
import { Duration, Effect, Metric } from "effect"
import type { Mode } from "../../domain/agent.ts"
import type { JobStatus, JobStep } from "../../domain/job.ts"

/** Upper bounds in seconds: a step is a call to a language model or a few. */
const STEP_BOUNDARIES = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300, 600]
/** Upper bounds in seconds: a job is up to some twenty steps, and may wait. */
const JOB_BOUNDARIES = [0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600]

/** Jobs that have not ended, by `status` (`queued`, `running`); the same number from every process. */
const openJobs = Metric.gauge("sealgate_jobs_open", {
  description: "Jobs that have not ended, by status.",
})

/** The same as `sealgate_jobs_open{status="queued"}`, under the name that dashboards look for. */
const queueDepth = Metric.gauge("sealgate_job_queue_depth", {
  description: "Jobs waiting for a worker, those waiting for a retry included.",
})

/** Seconds since the creation of the oldest job that waits; 0 when none does. */
const queueAge = Metric.gauge("sealgate_job_queue_age_seconds", {
  description: "Age of the oldest job waiting for a worker.",
})

/** Jobs enqueued through this process, by `mode`. */
const enqueued = Metric.counter("sealgate_jobs_enqueued_total", {
  description: "Jobs enqueued.",
  incremental: true,
})

/** Jobs ended by this process, by `mode` and `status`. */
const ended = Metric.counter("sealgate_jobs_ended_total", {
  description: "Jobs ended, by mode and final status.",
  incremental: true,
})

/** Seconds from enqueueing to the end, by `mode` and `status`. */
const jobDuration = Metric.histogram("sealgate_job_duration_seconds", {
  description: "Time from enqueueing a job to its end.",
  boundaries: JOB_BOUNDARIES,
})

/** Seconds that a step took, by `mode` and `status` (`completed`, `failed`). */
const stepDuration = Metric.histogram("sealgate_job_step_duration_seconds", {
  description: "Duration of a job's step.",
  boundaries: STEP_BOUNDARIES,
})

/** Steps that a resumed job had finished before and did not repeat, by `mode`. */
const stepsReplayed = Metric.counter("sealgate_job_steps_replayed_total", {
  description: "Finished steps that a resumed job did not repeat.",
  incremental: true,
})

/** Attempts that failed and are tried again, by `mode`. */
const retries = Metric.counter("sealgate_job_retries_total", {
  description: "Attempts that failed and are tried again.",
  incremental: true,
})

/** Jobs taken over from a worker that died, by `mode`. */
const takeovers = Metric.counter("sealgate_job_takeovers_total", {
  description: "Jobs taken over from a worker that died.",
  incremental: true,
})

const count = (counter: Metric.Counter<number>, attributes: Record<string, string>) =>
  Metric.update(Metric.withAttributes(counter, attributes), 1)

export const jobEnqueued = (mode: Mode) => count(enqueued, { mode })
export const jobRetried = (mode: Mode) => count(retries, { mode })
export const jobTakenOver = (mode: Mode) => count(takeovers, { mode })
export const stepReplayed = (mode: Mode) => count(stepsReplayed, { mode })

/** A job ended after `lasted` in all. */
export const jobEnded = (mode: Mode, status: JobStatus, lasted: Duration.Duration) =>
  Effect.andThen(
    count(ended, { mode, status }),
    Metric.update(Metric.withAttributes(jobDuration, { mode, status }), Duration.toSeconds(lasted)),
  )

export const stepFinished = (mode: Mode, status: JobStep["status"], took: Duration.Duration) =>
  Metric.update(Metric.withAttributes(stepDuration, { mode, status }), Duration.toSeconds(took))

/** Jobs that have not ended, and for how many milliseconds the oldest of those that wait has been waiting. */
export interface QueueState {
  readonly queued: number
  readonly running: number
  readonly oldestQueuedMs: number
}

/** Sets the gauges; called when they are about to be read. */
export const queueObserved = ({ oldestQueuedMs, queued, running }: QueueState) =>
  Effect.all(
    [
      Metric.update(Metric.withAttributes(openJobs, { status: "queued" }), queued),
      Metric.update(Metric.withAttributes(openJobs, { status: "running" }), running),
      Metric.update(queueDepth, queued),
      Metric.update(queueAge, oldestQueuedMs / 1000),
    ],
    { discard: true },
  )
