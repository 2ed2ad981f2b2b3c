/** The `RateLimit-Policy` and `RateLimit` fields (draft-ietf-httpapi-ratelimit-headers-11). */
import type { RateAllowance, RateLimited } from "../../services/access/RateLimits.ts"

const WINDOW_SECONDS = 60

type Counted = readonly [policy: string, outcome: RateAllowance | RateLimited]

export class PolicyStates {
  #counted: ReadonlyArray<Counted> = []

  add(...counted: Counted): void {
    this.#counted = [...this.#counted, counted]
  }

  /** Leaves the fields out of the response. */
  hide(): void {
    this.#counted = []
  }

  get fields(): Readonly<Record<string, string>> {
    return rateLimitFields(this.#counted)
  }
}

const stateOf = ([policy, outcome]: Counted): string => {
  const [remaining, resetMs] =
    "remaining" in outcome ? [outcome.remaining, outcome.resetAfterMs] : [0, outcome.retryAfterMs]
  return `"${policy}";r=${remaining};t=${Math.ceil(resetMs / 1000)}`
}

/** Structured fields (RFC 9651): lists of strings with parameters. Omits policies without a limit. */
export const rateLimitFields = (counted: ReadonlyArray<Counted>): Readonly<Record<string, string>> => {
  const limited = counted.filter(([, { limit }]) => limit > 0)
  if (limited.length === 0) return {}
  return {
    "ratelimit-policy": limited.map(([policy, { limit }]) => `"${policy}";q=${limit};w=${WINDOW_SECONDS}`).join(", "),
    ratelimit: limited.map(stateOf).join(", "),
  }
}
