/** Delays before a job's next attempt. */
import { Duration, Effect, Random } from "effect"
import type { JobSettings } from "./JobSettings.ts"

/** After `times` suspicious crashes, from 1; doubles each time. */
export const afterCrash = ({ crashBase, crashCap }: JobSettings, times: number): Duration.Duration =>
  Duration.min(Duration.times(crashBase, 2 ** (times - 1)), crashCap)

/**
 * After a failure: about as long as the job has been failing, so that delays about double, or as long as the upstream
 * asked for. The delay is random, so that jobs that failed together retry at different times.
 */
export const afterFailure = (
  { retryBase, retryCap }: JobSettings,
  failingFor: Duration.Duration,
  asked: Duration.Duration,
): Effect.Effect<Duration.Duration> =>
  Effect.map(Random.nextBetween(0.5, 1), (part) =>
    Duration.max(
      Duration.times(Duration.clamp(failingFor, { minimum: retryBase, maximum: retryCap }), part),
      Duration.min(asked, retryCap),
    ),
  )
