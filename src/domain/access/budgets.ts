/** Budgets of keys, in micro-USD and tokens, per period of UTC or in all. */
import { DateTime, Schema } from "effect"
import { Refusal } from "../problems/refusal.ts"

const PERIODS = ["hour", "day", "month", "total"] as const
const PositiveInt = Schema.Int.check(Schema.isGreaterThan(0))

export const Budget = Schema.Struct({
  per: Schema.Literals(PERIODS).annotate({
    description: "The period (UTC) after which it renews; `total` never does.",
  }),
  max_cost_micro_usd: Schema.optionalKey(PositiveInt.annotate({ description: "Millionths of a US dollar." })),
  max_tokens: Schema.optionalKey(PositiveInt.annotate({ description: "Input plus output tokens." })),
})
export type Budget = typeof Budget.Type

/** At most one per period. A call must fit all of them. */
export const Budgets = Schema.Array(Budget)
  .check(Schema.isMinLength(1), Schema.isMaxLength(PERIODS.length))
  .annotate({ description: "Budgets of its calls, at most one per period; a call must fit all of them." })
export type Budgets = typeof Budgets.Type

/** The start of the period that `now` is in, in milliseconds since the epoch; 0 for `total`. */
export const startOf = (per: Budget["per"], now: number): number =>
  per === "total" ? 0 : DateTime.startOf(DateTime.makeUnsafe(now), per).epochMilliseconds

/** When a budget renews, in milliseconds since the epoch; `undefined` if it never does. */
export const renewalOf = (per: Budget["per"], now: number): number | undefined =>
  per === "total"
    ? undefined
    : DateTime.add(DateTime.makeUnsafe(startOf(per, now)), { [`${per}s`]: 1 }).epochMilliseconds

/** The call does not fit a budget of its key. 429 if the budget renews, else 402. */
export class BudgetExhausted extends Schema.TaggedError<BudgetExhausted>()("BudgetExhausted", {
  per: Schema.Literals(PERIODS),
  /** The unused part, in micro-USD and tokens; `null` without that limit. */
  leftCost: Schema.NullOr(Schema.Int),
  leftTokens: Schema.NullOr(Schema.Int),
  /** Milliseconds since the epoch. */
  renewsAt: Schema.optionalKey(Schema.Int),
}) {
  readonly code = "budget-exhausted"
  readonly retryable = false
  get status(): 402 | 429 {
    return this.renewsAt === undefined ? 402 : 429
  }
  override get message(): string {
    const left = [
      ...(this.leftCost === null ? [] : [`${this.leftCost} micro-USD`]),
      ...(this.leftTokens === null ? [] : [`${this.leftTokens} tokens`]),
    ]
    const renewal =
      this.renewsAt === undefined
        ? "It never renews"
        : `It renews at ${DateTime.formatIso(DateTime.makeUnsafe(this.renewsAt))}`
    return `The key's budget per ${this.per} has too little left for the call: ${left.join(", ")}. ${renewal}.`
  }
}

/** A request has members whose cost is unknown beforehand, and its key has budgets. */
export class RequestUnbounded extends Refusal<RequestUnbounded>()("RequestUnbounded", {
  code: "request-unbounded",
  status: 422,
  title: "The key has a budget, and the request has members whose cost is unknown beforehand.",
}) {}
