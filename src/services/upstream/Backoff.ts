/** How long a target is left alone before it is tried again. */
import { Duration, Effect, Schedule } from "effect"
import type { ProviderFailure } from "./Provider.ts"
import type { UpstreamSettings } from "./UpstreamSettings.ts"

/**
 * Jittered exponential delays up to a cap. A provider's `Retry-After` is added to them, so that it is always respected
 * and callers who were told the same time do not all come back at that time.
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
