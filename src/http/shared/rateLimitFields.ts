/** The `RateLimit-Policy` and `RateLimit` fields (draft-ietf-httpapi-ratelimit-headers-11). */
import type { Allowance, RateLimited } from "../../services/access/RateLimits.ts"

const WINDOW_SECONDS = 60

/** The remaining requests of one policy. */
export interface PolicyState {
  readonly policy: string
  readonly limit: number
  readonly remaining: number
  readonly resetMs: number
}

export const stateOf = (policy: string, outcome: Allowance | RateLimited): PolicyState =>
  "remaining" in outcome
    ? { policy, limit: outcome.limit, remaining: outcome.remaining, resetMs: outcome.resetAfterMs }
    : { policy, limit: outcome.limit, remaining: 0, resetMs: outcome.retryAfterMs }

/** The policies that one request counted against. */
export class PolicyStates {
  #states: ReadonlyArray<PolicyState> = []

  add(state: PolicyState): void {
    this.#states = [...this.#states, state]
  }

  /** Keeps the response from showing them. */
  hide(): void {
    this.#states = []
  }

  /** The header fields of the response. */
  get fields(): Readonly<Record<string, string>> {
    return rateLimitFields(this.#states)
  }
}

/** Structured fields (RFC 9651): lists of strings with parameters. Omits policies without a limit. */
export const rateLimitFields = (states: ReadonlyArray<PolicyState>): Readonly<Record<string, string>> => {
  const limited = states.filter(({ limit }) => limit > 0)
  if (limited.length === 0) return {}
  return {
    "ratelimit-policy": limited.map(({ limit, policy }) => `"${policy}";q=${limit};w=${WINDOW_SECONDS}`).join(", "),
    ratelimit: limited
      .map(({ policy, remaining, resetMs }) => `"${policy}";r=${Math.max(0, remaining)};t=${Math.ceil(resetMs / 1000)}`)
      .join(", "),
  }
}
