/** All numbers of durable jobs. */
import { Context, Duration } from "effect"

export interface JobSettings {
  /** Jobs that this process works on at the same time. */
  readonly workers: number
  /** Maximum number of workers that run one tenant's jobs. */
  readonly workersPerTenant: number
  /** The shares of tenants in the workers, relative to other tenants with jobs. Default: 1. */
  readonly weights: ReadonlyMap<string, number>
  /** How long a job without a finished step is retried before a retryable failure becomes final. */
  readonly retryFor: Duration.Duration
  /** Upper limit of the delay before the second attempt. Later delays grow with the time that the job has been failing. */
  readonly retryBase: Duration.Duration
  /** Longest delay after a failure, even if an upstream asks for more. */
  readonly retryCap: Duration.Duration
  /** Crashes in a row, without a finished step in between, after which a job fails. A crash is the death of its worker. */
  readonly maxCrashes: number
  /**
   * Crashes in a row after which the job is still retried at once. After more crashes the job may be their cause, so it
   * waits before each attempt: `crashBase`, doubling up to `crashCap`. Otherwise it could keep a server down.
   */
  readonly innocentCrashes: number
  readonly crashBase: Duration.Duration
  readonly crashCap: Duration.Duration
  /** A worker that has not renewed its lease for this long counts as dead. Whole seconds. */
  readonly lease: Duration.Duration
  readonly leaseRefresh: Duration.Duration
  /** How often an idle process looks for jobs that other processes enqueued or left behind. */
  readonly poll: Duration.Duration
  /** How long ended jobs are kept. */
  readonly retention: Duration.Duration
  /** How often expired rows are removed. */
  readonly pruneEvery: Duration.Duration
}

export const JobSettings = Context.Reference<JobSettings>("sealgate/services/jobs/JobSettings", {
  defaultValue: () => ({
    workers: 16,
    workersPerTenant: 12,
    weights: new Map(),
    retryFor: Duration.hours(1),
    retryBase: Duration.seconds(2),
    retryCap: Duration.minutes(5),
    maxCrashes: 10,
    innocentCrashes: 2,
    crashBase: Duration.seconds(1),
    crashCap: Duration.minutes(1),
    lease: Duration.seconds(15),
    leaseRefresh: Duration.seconds(5),
    poll: Duration.seconds(1),
    retention: Duration.days(30),
    pruneEvery: Duration.hours(1),
  }),
})
