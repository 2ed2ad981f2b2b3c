/** Reads how long a provider asks its callers to wait. */
import { Clock, Duration, Effect, Result } from "effect"
import { Headers } from "effect/http"
import type { ResponseHeaders } from "../../HttpExchange.ts"

/** The longest wait that is passed on. Providers' limits last a day at most, and more digits are a mistake. */
const LONGEST_MS = Duration.toMillis(Duration.days(1))

/** Returns {@link retryAfterMs} at the present time. */
export const retryAfterNow = (headers: ResponseHeaders): Effect.Effect<number | undefined> =>
  // Few responses have one of these headers.
  headers["retry-after-ms"] === undefined && headers["retry-after"] === undefined
    ? Effect.undefined
    : Effect.map(Clock.currentTimeMillis, (now) => retryAfterMs(headers, now))

/**
 * Returns the milliseconds from `now` (ms since the epoch) until another try is welcome, from `retry-after-ms` or from
 * `Retry-After` in seconds or as a date (RFC 9110 §10.2.3). `undefined` without a usable value; never negative, and a
 * day at most.
 */
export const retryAfterMs = (headers: ResponseHeaders, now: number): number | undefined => {
  const asked = askedMs(headers, now)
  return asked === undefined ? undefined : Math.min(asked, LONGEST_MS)
}

const askedMs = (headers: ResponseHeaders, now: number): number | undefined => {
  const milliseconds = number(headers["retry-after-ms"])
  if (milliseconds !== undefined) return milliseconds
  const value = headers["retry-after"]
  if (value === undefined) return undefined
  const seconds = number(value)
  if (seconds !== undefined) return finite(Math.ceil(seconds * 1000))
  const asked = Result.getOrUndefined(Headers.parseRetryAfter(value))
  return asked?._tag === "DateTime" ? Duration.toMillis(Headers.retryAfterDelay(asked, now)) : undefined
}

const number = (text: string | undefined): number | undefined =>
  text !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(text) ? finite(Number(text)) : undefined

/** `value` if it is finite: more digits than a number holds would make it infinite. */
export const finite = (value: number): number | undefined => (Number.isFinite(value) ? value : undefined)
