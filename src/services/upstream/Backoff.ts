/** How long a target is left alone before it is tried again. */
import { Duration, Effect, Random } from "effect"
import type { ProviderFailure } from "./Provider.ts"
import type { UpstreamSettings } from "./UpstreamSettings.ts"

/** By what part a delay is longer or shorter than its exact time. */
const JITTER = 0.2

/** A time in milliseconds, jittered to between 80 % and 120 %, so that not everybody comes back at once. */
export const jittered = (ms: number): Effect.Effect<number> =>
  Effect.map(Random.next, (random) => ms * (1 - JITTER + 2 * JITTER * random))

/**
 * The delay in milliseconds before a target that failed is tried again for the `retry`th time, from 0: exponential, up to
 * a cap. A provider's `Retry-After` is added to it, so that it is always respected and callers who were told the same
 * time do not all come back at that time.
 */
export const backoff = (
  { base, cap, factor }: UpstreamSettings["retry"],
  retry: number,
  { retryAfterMs = 0 }: ProviderFailure,
): Effect.Effect<number> =>
  Effect.map(
    jittered(Math.min(Duration.toMillis(base) * factor ** retry, Duration.toMillis(cap))),
    (delay) => delay + retryAfterMs,
  )
