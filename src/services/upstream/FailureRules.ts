/** What follows from each kind of failure: the fault table of the product as a value. */
import type { FailureKind, UpstreamCode } from "../../domain/upstream.ts"

export interface FailureRule {
  /** Whether the same target is tried again. A silent target is not: it would only be waited for twice. */
  readonly retry: boolean
  /** Whether another target may be asked. A request that is wrong or not allowed is so everywhere. */
  readonly failover: boolean
  /** Whether it says that the target is unwell, so that it counts against its circuit. */
  readonly unwell: boolean
  /** What the caller sees if nothing better follows. */
  readonly code: UpstreamCode
}

const transient = { retry: true, failover: true, unwell: true } as const
const elsewhere = { retry: false, failover: true, unwell: false } as const
const final = { retry: false, failover: false, unwell: false } as const

export const failureRules: Readonly<Record<FailureKind, FailureRule>> = {
  "rate-limited": { ...transient, code: "rate-limited" },
  unavailable: { ...transient, code: "upstream-unavailable" },
  truncated: { ...transient, code: "upstream-truncated" },
  garbage: { ...transient, code: "upstream-protocol" },
  timeout: { ...transient, retry: false, code: "upstream-timeout" },
  "context-too-long": { ...elsewhere, code: "context-too-long" },
  unsupported: { ...elsewhere, code: "unsupported" },
  "unknown-model": { ...elsewhere, code: "unknown-model" },
  unauthorized: { ...elsewhere, code: "upstream-unauthorized" },
  "content-filtered": { ...final, code: "content-filtered" },
  "invalid-request": { ...final, code: "invalid-request" },
}
