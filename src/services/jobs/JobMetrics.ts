/** Metrics of durable jobs. All labels have few values: states, modes, outcomes. */
import { Duration, Effect, Metric } from "effect"
import type { Mode } from "../../domain/jobs/modes.ts"
import type { JobStatus, JobStep } from "../../domain/jobs/job.ts"
import { counter, gauge, histogram } from "../metrics.ts"

const openJobs = gauge("sealgate_jobs_open")
/** The same number as `sealgate_jobs_open{status="queued"}`, under the name that dashboards use. */
const queueDepth = gauge("sealgate_job_queue_depth")
const queueAge = gauge("sealgate_job_queue_age_seconds")
const enqueued = counter("sealgate_jobs_enqueued_total")
const ended = counter("sealgate_jobs_ended_total")
const jobDuration = histogram("sealgate_job_duration_seconds")
const stepDuration = histogram("sealgate_job_step_duration_seconds")
const stepsReplayed = counter("sealgate_job_steps_replayed_total")
const retries = counter("sealgate_job_retries_total")
const takeovers = counter("sealgate_job_takeovers_total")

export const jobEnqueued = (mode: Mode) => Metric.update(enqueued({ mode }), 1)
export const jobRetried = (mode: Mode) => Metric.update(retries({ mode }), 1)
export const jobTakenOver = (mode: Mode) => Metric.update(takeovers({ mode }), 1)
export const stepReplayed = (mode: Mode) => Metric.update(stepsReplayed({ mode }), 1)

export const jobEnded = (mode: Mode, status: JobStatus, lasted: Duration.Duration) =>
  Effect.andThen(
    Metric.update(ended({ mode, status }), 1),
    Metric.update(jobDuration({ mode, status }), Duration.toSeconds(lasted)),
  )

export const stepFinished = (mode: Mode, status: JobStep["status"], tookMs: number) =>
  Metric.update(stepDuration({ mode, status }), tookMs / 1000)

/** Numbers of open jobs, and the age in milliseconds of the oldest one that waits for a worker and not for a retry. */
export interface QueueState {
  readonly queued: number
  readonly running: number
  readonly oldestQueuedMs: number
}

/** Sets the gauges; called when they are about to be read. */
export const queueObserved = ({ oldestQueuedMs, queued, running }: QueueState) =>
  Effect.all(
    [
      Metric.update(openJobs({ status: "queued" }), queued),
      Metric.update(openJobs({ status: "running" }), running),
      Metric.update(queueDepth(), queued),
      Metric.update(queueAge(), oldestQueuedMs / 1000),
    ],
    { discard: true },
  )
