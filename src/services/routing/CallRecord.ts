/** One row of the ledger. */
import type { Tokens } from "../../domain/routing/money.ts"
import type { Role, Strategy } from "../../domain/routing/routing.ts"
import type { ProviderId } from "../../domain/upstream/upstream.ts"

/** One call to a provider. Times in milliseconds, `at` since the epoch; money in micro-USD. */
export interface CallRecord {
  /** That of its request, and its number there. */
  readonly id: string
  readonly at: number
  /** All calls of one request share it, and one of them is its `first`. */
  readonly requestId: string
  readonly first: boolean
  readonly tenant: string
  readonly job: string | null
  readonly agent: string | null
  readonly mode: string | null
  readonly strategy: Strategy
  readonly role: Role
  readonly provider: ProviderId
  /** The model that was asked for, and the one that answered, where it said so. */
  readonly model: string
  readonly servedModel: string | null
  /** `null` when the provider did not say. */
  readonly tokens: Tokens | null
  readonly priceVersion: string | null
  readonly cost: number | null
  /** What it counts against its job's limits, where its tokens or its cost are not known as an estimate. */
  readonly charged: { readonly tokens: number; readonly cost: number }
  /** The same tokens at the baseline; 0 for a call that the baseline would not have made. */
  readonly baseline: number | null
  readonly latency: number
  readonly ttft: number | null
  /** `success`, `interrupted`, or how it failed. */
  readonly outcome: string
}
