/** Every number of the fault policy, in one plain value. */
import { Duration } from "effect"

export type UpstreamSettings = typeof defaultUpstreamSettings

export const defaultUpstreamSettings = {
  timeouts: {
    /** Until a connection, TLS included, is made. The HTTP client enforces it, see `ProviderHttp`. */
    connect: Duration.seconds(5),
    /** Until a whole answer, from the start of a call that does not stream. */
    answer: Duration.seconds(120),
    /** Until the first output of a stream, from the start of the call. Each visible thought extends it by the limit of silence. */
    firstToken: Duration.seconds(60),
    /**
     * Silence after the first output; `answer` for the last target, or if output is final. Any byte ends it, and a
     * slow reader's time does not count. Longer than the 30 s between the pings of common providers.
     */
    idle: Duration.seconds(40),
    /** For a whole request: waiting, retries, failover, and reading the answer. */
    total: Duration.minutes(10),
  },
  retry: {
    /** Retries of one target after its first call. */
    times: 2,
    /** Back-off before the first retry. Every delay is jittered to between 80 % and 120 %. */
    base: Duration.millis(250),
    /** The factor between one back-off and the next. */
    factor: 2,
    /** The longest back-off before jitter. */
    cap: Duration.seconds(4),
    /** The longest `Retry-After` to wait for. A longer one leads to the next target at once. */
    maxRetryAfter: Duration.seconds(20),
  },
  bulkhead: {
    /** Concurrent calls of one provider. */
    calls: 512,
    /** Calls that may wait for one of those places. */
    waiting: 512,
    /** How long they wait before they go to the next target. */
    maxWait: Duration.seconds(2),
  },
  circuit: {
    /** Consecutive requests that a target must fail, each with all its retries, before its circuit opens. */
    failures: 3,
    /** The same for requests that were too slow, which are counted separately. */
    slow: 10,
    /** How long a circuit stays open the first time. Every opening is jittered to between 80 % and 120 %. */
    open: Duration.seconds(5),
    /** The factor between one opening and the next in a row. */
    factor: 2,
    /** The longest opening before jitter, and the longest that a provider's `Retry-After` can make it. */
    maxOpen: Duration.seconds(10),
  },
}
