/** One row of the ledger. */
import type { Labels } from "../../domain/routing/labels.ts"
import type { TokenUse } from "../../domain/routing/money.ts"
import type { ModelRole, Strategy } from "../../domain/routing/routing.ts"
import type { ProviderId } from "../../domain/upstream/upstream.ts"

/** One call to a provider. Times in milliseconds, `at` since the epoch; money in micro-USD. */
export interface CallRecord {
  /** The request's id and the number of the call. */
  readonly id: string
  readonly at: number
  /** Shared by all calls of one request; one of them is its `first`. */
  readonly requestId: string
  readonly first: boolean
  readonly tenant: string
  readonly job: string | null
  readonly agent: string | null
  readonly key: string | null
  readonly labels: Labels
  readonly mode: string | null
  readonly strategy: Strategy
  /** `null` for calls outside a job. */
  readonly role: ModelRole | null
  readonly provider: ProviderId
  /** The requested model, and the one that answered, if reported. */
  readonly model: string
  readonly servedModel: string | null
  /** `null` if the provider did not report them. */
  readonly tokens: TokenUse | null
  readonly priceVersion: string | null
  readonly cost: number | null
  /** Its charge against limits and budgets. */
  readonly charged: { readonly tokens: number; readonly cost: number }
  /** Whether the charge is an estimate, because the usage is unknown or cannot be true. */
  readonly estimated: boolean
  /** The cost of the same tokens at the baseline; 0 for a call that would not have been made without routing. */
  readonly baseline: number | null
  /** Whether the call was made with the tenant's own key, so that the tenant pays the provider. */
  readonly ownKey: boolean
  readonly latency: number
  readonly ttft: number | null
  /** `success`, `cached` without a call, `interrupted`, or the kind of failure. */
  readonly outcome: string
}

/** Outcomes that are no failure. */
export const ANSWERED: ReadonlyArray<string> = ["success", "cached"]
