/** Reservations of calls, and the rows of the budgets that they count in. */
import { Schema } from "effect"
import { type Budget, type Budgeted, type BudgetOwner, startOf } from "../../domain/access/budgets.ts"
import { MAX_SUM, sumOf } from "../../domain/routing/money.ts"
import type { Pending } from "./Accounting.ts"

/** `cost` in micro-USD. */
export interface Amount {
  readonly cost: number
  readonly tokens: number
}

/** A budget's row: that of its owner for one period. */
export const Use = Schema.Struct({ owner: Schema.String, per: Schema.String, since: Schema.Int })
export type Use = typeof Use.Type

/** A budget in its present period. */
export interface Limit extends Use {
  readonly whose: BudgetOwner
  readonly budget: Budget
}

/** The worst case of a call, which all of its limits must have room for. */
export interface Reservation {
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly worst: Amount
  readonly limits: ReadonlyArray<Limit>
  readonly asked: Pending
}

/** The limits of budgets at `now`, in milliseconds since the epoch. */
export const limitsOf = (budgeted: ReadonlyArray<Budgeted>, now: number): ReadonlyArray<Limit> =>
  budgeted.flatMap(({ budgets, owner }) =>
    budgets.map((budget) => ({
      owner: `${owner.kind}:${owner.id}`,
      per: budget.per,
      since: startOf(budget.per, now),
      whose: owner,
      budget,
    })),
  )

export const useKey = ({ owner, per, since }: Use): string => JSON.stringify([owner, per, since])

export const costLimit = ({ budget }: Limit): number => budget.max_cost_micro_usd ?? MAX_SUM
export const tokensLimit = ({ budget }: Limit): number => budget.max_tokens ?? MAX_SUM

/** The sum of several reservations in one row, and the lowest of their limits. */
export interface Wanted extends Use, Amount {
  readonly cost_limit: number
  readonly tokens_limit: number
}

export const wantedOf = (reservations: ReadonlyArray<Reservation>): ReadonlyArray<Wanted> => {
  const wanted = new Map<string, Wanted>()
  for (const { limits, worst } of reservations) {
    for (const limit of limits) {
      const key = useKey(limit)
      const { owner, per, since } = limit
      const before = wanted.get(key)
      wanted.set(key, {
        owner,
        per,
        since,
        cost: sumOf(before?.cost ?? 0, worst.cost),
        tokens: sumOf(before?.tokens ?? 0, worst.tokens),
        cost_limit: Math.min(before?.cost_limit ?? MAX_SUM, costLimit(limit)),
        tokens_limit: Math.min(before?.tokens_limit ?? MAX_SUM, tokensLimit(limit)),
      })
    }
  }
  return [...wanted.values()]
}
