/** How long to wait before a target is tried again. */
import { Duration, Effect, Random } from "effect"
import type { ProviderFailure } from "./Provider.ts"
import type { UpstreamSettings } from "./UpstreamSettings.ts"

/** The fraction by which a delay may be shorter or longer. */
const JITTER = 0.2

/** Jitters a time in milliseconds to between 80 % and 120 %, so that callers do not all return at once. */
export const jittered = (ms: number): Effect.Effect<number> =>
  Effect.map(Random.next, (random) => ms * (1 - JITTER + 2 * JITTER * random))

/** Milliseconds before retry `retry` (from 0): `Retry-After` plus a capped exponential delay, jittered among callers. */
export const backoff = (
  { base, cap, factor }: UpstreamSettings["retry"],
  retry: number,
  { retryAfterMs = 0 }: ProviderFailure,
): Effect.Effect<number> =>
  Effect.map(
    jittered(Math.min(Duration.toMillis(base) * factor ** retry, Duration.toMillis(cap))),
    (delay) => delay + retryAfterMs,
  )
