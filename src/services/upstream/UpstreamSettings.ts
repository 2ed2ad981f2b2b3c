/** Every number of the fault policy, in one plain value. */
import { Duration } from "effect"

export interface UpstreamSettings {
  readonly timeouts: {
    /** Until a connection, TLS included, is made. The HTTP client enforces it, see `ProviderHttp`. */
    readonly connect: Duration.Duration
    /** Until a whole answer, from the start of a call that does not stream. */
    readonly answer: Duration.Duration
    /** Until the first output of a stream, from the start of the call. Each visible thought extends it by `idle`. */
    readonly firstToken: Duration.Duration
    /**
     * Silence after the first output. Comments and pings do not count as output, and the time of a slow reader does
     * not count.
     */
    readonly idle: Duration.Duration
    /** For a whole request: waiting, retries, failover, and reading the answer. */
    readonly total: Duration.Duration
  }
  readonly retry: {
    /** Retries of one target after its first call. */
    readonly times: number
    /** Back-off before the first retry. Every delay is jittered to between 80 % and 120 %. */
    readonly base: Duration.Duration
    /** The factor between one back-off and the next. */
    readonly factor: number
    /** The longest back-off before jitter. */
    readonly cap: Duration.Duration
    /** The longest `Retry-After` to wait for. A longer one leads to the next target at once. */
    readonly maxRetryAfter: Duration.Duration
  }
  readonly bulkhead: {
    /** Concurrent calls of one provider. */
    readonly calls: number
    /** Calls that may wait for one of those places. */
    readonly waiting: number
    /** How long they wait before they go to the next target. */
    readonly maxWait: Duration.Duration
  }
  readonly circuit: {
    /** Consecutive requests that a target must fail, each with all its retries, before its circuit opens. */
    readonly failures: number
    /** The same for requests that were too slow, which are counted separately. */
    readonly slow: number
    /** How long a circuit stays open the first time. Every opening is jittered to between 80 % and 120 %. */
    readonly open: Duration.Duration
    /** The factor between one opening and the next in a row. */
    readonly factor: number
    /** The longest opening before jitter, and the longest that a provider's `Retry-After` can make it. */
    readonly maxOpen: Duration.Duration
  }
}

export const defaultUpstreamSettings: UpstreamSettings = {
  timeouts: {
    connect: Duration.seconds(5),
    answer: Duration.seconds(120),
    firstToken: Duration.seconds(60),
    idle: Duration.seconds(15),
    total: Duration.minutes(10),
  },
  retry: {
    times: 2,
    base: Duration.millis(250),
    factor: 2,
    cap: Duration.seconds(4),
    maxRetryAfter: Duration.seconds(20),
  },
  bulkhead: { calls: 512, waiting: 512, maxWait: Duration.seconds(2) },
  circuit: { failures: 3, slow: 10, open: Duration.seconds(5), factor: 2, maxOpen: Duration.seconds(10) },
}
