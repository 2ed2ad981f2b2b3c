/** Every number of durable jobs, in one plain value. */
import { Context, Duration } from "effect"

export interface JobSettings {
  /** Jobs that this process works on at the same time. */
  readonly workers: number
  /** How many of them may be of one tenant. */
  readonly workersPerTenant: number
  /** How long a job is tried again without a step having finished, before a failure that may pass is final. */
  readonly retryFor: Duration.Duration
  /** The longest wait before the second attempt; further ones grow with the time that it has been failing. */
  readonly retryBase: Duration.Duration
  /** The longest wait, also where an upstream asks for a longer one. */
  readonly retryCap: Duration.Duration
  /** How often in a row a job's workers may die without the job finishing a step before the job is failed. */
  readonly maxCrashes: number
  /**
   * How many of those deaths count as bad luck, after which the job goes on at once. After more, the job itself may be
   * the cause: it then waits between attempts, from `crashBase` to `crashCap`, twice as long each time, so that it
   * cannot keep a server down.
   */
  readonly innocentCrashes: number
  readonly crashBase: Duration.Duration
  readonly crashCap: Duration.Duration
  /** A worker that has not renewed its claim for this long is taken for dead. Whole seconds. */
  readonly lease: Duration.Duration
  /** How often claims are renewed. */
  readonly leaseRefresh: Duration.Duration
  /** How often an idle process looks for jobs that others enqueued or left behind. */
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
