/** How long a target is left alone before it is tried again. */
import { Duration, Effect, Schedule } from "effect"
import type { ProviderFailure } from "./Provider.ts"
import type { UpstreamSettings } from "./UpstreamSettings.ts"

/**
 * Jittered exponential delays up to a cap. What the provider asked for with `Retry-After` is added to them, never
 * undercut, so that callers who were all told the same time do not all come back at the same time.
 */
export const makeBackoff = ({
  base,
  cap,
  factor,
}: UpstreamSettings["retry"]): Schedule.Schedule<unknown, ProviderFailure> =>
  Schedule.exponential(base, factor).pipe(
    Schedule.modifyDelay(({ duration }) => Effect.succeed(Duration.min(duration, cap))),
    Schedule.jittered,
    Schedule.setInputType<ProviderFailure>(),
    Schedule.modifyDelay(({ duration, input }) =>
      Effect.succeed(Duration.sum(duration, Duration.millis(input.retryAfterMs ?? 0))),
    ),
  )
