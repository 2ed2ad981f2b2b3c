/** Budgets of tenants, agents and keys, in micro-USD and tokens, per period of UTC or in all. */
import { DateTime, Schema } from "effect"
import type { ProblemIssue } from "../problems/problem.ts"
import { Refusal } from "../problems/refusal.ts"
import { timeText } from "../timeText.ts"

const PERIODS = ["hour", "day", "month", "total"] as const
const OWNERS = ["tenant", "agent", "key"] as const
const PositiveInt = Schema.Int.check(Schema.isGreaterThan(0))

export const Budget = Schema.Struct({
  per: Schema.Literals(PERIODS).annotate({
    description: "The period (UTC) after which it renews; `total` never does.",
  }),
  max_cost_micro_usd: Schema.optionalKey(PositiveInt.annotate({ description: "Millionths of a US dollar." })),
  max_tokens: Schema.optionalKey(PositiveInt.annotate({ description: "Input plus output tokens." })),
})
export type Budget = typeof Budget.Type

export const BudgetList = Schema.Array(Budget)
  .check(Schema.isMinLength(1), Schema.isMaxLength(PERIODS.length))
  .annotate({ description: "Budgets of its calls, at most one per period; a call must fit all of them." })
export type BudgetList = typeof BudgetList.Type

export const TenantBudgetList = Schema.Array(Budget)
  .check(Schema.isMaxLength(PERIODS.length))
  .annotate({ description: "At most one per period; an empty list is none." })
export type TenantBudgetList = typeof TenantBudgetList.Type

/** Whose budget it is; `id` is unique within the kind. */
export const BudgetOwner = Schema.Struct({
  kind: Schema.Literals(OWNERS).annotate({
    description: "Whether the budget limits the calls of a tenant, an agent or a key.",
  }),
  id: Schema.String,
}).annotate({ description: "Whose budget it is." })
export type BudgetOwner = typeof BudgetOwner.Type

/** The budgets of one owner. A call must fit those of its tenant, its agent and its key. */
export interface Budgeted {
  readonly owner: BudgetOwner
  readonly budgets: ReadonlyArray<Budget>
}

export const BudgetUse = Schema.Struct({
  owner: BudgetOwner,
  ...Budget.fields,
  spent_micro_usd: Schema.Natural.annotate({
    description: "Millionths of a US dollar; estimated where usage is unknown.",
  }),
  spent_tokens: Schema.Natural.annotate({ description: "Input plus output tokens; estimated where usage is unknown." }),
  reserved_micro_usd: Schema.Natural.annotate({ description: "For calls under way." }),
  reserved_tokens: Schema.Natural.annotate({ description: "For calls under way." }),
  left_micro_usd: Schema.NullOr(Schema.Natural).annotate({ description: "`null` without that limit." }),
  left_tokens: Schema.NullOr(Schema.Natural).annotate({ description: "`null` without that limit." }),
  renews_at: Schema.optionalKey(timeText("Absent for `total`, which never renews.")),
})
export type BudgetUse = typeof BudgetUse.Type

export const BudgetReport = Schema.Struct({ items: Schema.Array(BudgetUse) }).annotate({ identifier: "BudgetReport" })
export type BudgetReport = typeof BudgetReport.Type

export const budgetIssues = (budgets: ReadonlyArray<Budget>, path: string): ReadonlyArray<ProblemIssue> => [
  ...(new Set(budgets.map(({ per }) => per)).size < budgets.length
    ? [{ path, message: "must have at most one budget per period" }]
    : []),
  ...(budgets.some((budget) => budget.max_cost_micro_usd === undefined && budget.max_tokens === undefined)
    ? [{ path, message: "must set max_cost_micro_usd, max_tokens or both in each budget" }]
    : []),
]

/** The start of the period that `now` is in, in milliseconds since the epoch; 0 for `total`. */
export const startOf = (per: Budget["per"], now: number): number =>
  per === "total" ? 0 : DateTime.startOf(DateTime.makeUnsafe(now), per).epochMilliseconds

/** When a budget renews, in milliseconds since the epoch; `undefined` if it never does. */
export const renewalOf = (per: Budget["per"], now: number): number | undefined =>
  per === "total"
    ? undefined
    : DateTime.add(DateTime.makeUnsafe(startOf(per, now)), { [`${per}s`]: 1 }).epochMilliseconds

export const BUDGET_RESERVED = "budget-reserved"

/** The mean delay before a repetition if other calls' reservations are in the way. */
const RESERVED_FOR_MS = 2000

/** The call does not fit a budget. 402 if waiting cannot help, else 429. */
export class BudgetExhausted extends Schema.TaggedError<BudgetExhausted>()("BudgetExhausted", {
  owner: BudgetOwner,
  per: Schema.Literals(PERIODS),
  /** The unused part, in micro-USD and tokens; `null` without that limit. */
  leftCost: Schema.NullOr(Schema.Int),
  leftTokens: Schema.NullOr(Schema.Int),
  /** Whether the call fits what is not spent: only reservations of other calls are in the way. */
  isReserved: Schema.Boolean,
  /** Milliseconds since the epoch; absent if a renewal is not needed or cannot help. */
  renewsAt: Schema.optionalKey(Schema.Int),
}) {
  get code(): "budget-reserved" | "budget-exhausted" {
    return this.isReserved ? BUDGET_RESERVED : "budget-exhausted"
  }
  get retryable(): boolean {
    return this.isReserved
  }
  get status(): 402 | 429 {
    return this.isReserved || this.renewsAt !== undefined ? 429 : 402
  }
  /** Delay before a repetition; `undefined` if useless. `random`, in [0, 1), spreads clients refused together. */
  retryAfterMs(now: number, random: number): number | undefined {
    if (this.isReserved) return Math.ceil(RESERVED_FOR_MS * (0.5 + random))
    return this.renewsAt === undefined ? undefined : this.renewsAt - now
  }
  override get message(): string {
    const left = [
      ...(this.leftCost === null ? [] : [`${this.leftCost} micro-USD`]),
      ...(this.leftTokens === null ? [] : [`${this.leftTokens} tokens`]),
    ]
    const budget = this.per === "total" ? "total budget" : `budget per ${this.per}`
    return `The ${this.owner.kind}'s ${budget} has too little left for the call: ${left.join(", ")}. ${this.prospect}.`
  }
  private get prospect(): string {
    if (this.isReserved) return "Calls under way reserve more of it than they may use: try again soon"
    if (this.renewsAt !== undefined) return `It renews at ${DateTime.formatIso(DateTime.makeUnsafe(this.renewsAt))}`
    return this.per === "total" ? "It never renews" : "The call takes more than all of it"
  }
}

export class RequestUnbounded extends Refusal<RequestUnbounded>()("RequestUnbounded", {
  code: "request-unbounded",
  status: 422,
  title: "The request has members that escape the limits of its key or a budget.",
}) {}
