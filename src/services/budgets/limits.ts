/** Budgets in their present periods, and the rows that count their use. */
import { Schema } from "effect"
import { type Budget, type Budgeted, type BudgetOwner, startOf } from "../../domain/access/budgets.ts"
import { MAX_SUM } from "../../domain/routing/money.ts"

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
