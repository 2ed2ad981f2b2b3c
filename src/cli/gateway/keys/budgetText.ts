/** Budgets on the command line: `5usd/day`, `1000000tokens/total`. */
import { Effect, Schema } from "effect"
import { Budget } from "../../../domain/access/budgets.ts"
import { usdPlain } from "../../../domain/routing/dollars.ts"
import { parsed } from "../../../layers/config/codecs.ts"
import { unusable } from "../../CommandFailed.ts"

const MICRO = 1_000_000
const isBudget = Schema.is(Budget)

const parse = (text: string): Budget | undefined => {
  const [, amount, unit, per] = /^(\d+(?:\.\d{1,6})?)(usd|tokens)\/(\w+)$/i.exec(text) ?? []
  const limit =
    unit?.toLowerCase() === "usd"
      ? { max_cost_micro_usd: Math.round(Number(amount) * MICRO) }
      : { max_tokens: Number(amount) }
  const budget = { per, ...limit }
  return isBudget(budget) ? budget : undefined
}

export const BudgetText = parsed(
  Budget,
  parse,
  "an amount above zero in usd or tokens, a slash, and hour, day, month or total, such as 5usd/day or 100000tokens/total",
)

/** Joins the money and the tokens of each period. Fails if one limit of a period is given twice. */
export const joinBudgets = Effect.fnUntraced(function* (given: ReadonlyArray<Budget>) {
  const byPeriod = new Map<string, Budget>()
  for (const budget of given) {
    const known = byPeriod.get(budget.per)
    const isTwice = Object.keys(budget).some((member) => member !== "per" && known !== undefined && member in known)
    if (isTwice) return yield* unusable(`--budget limits the same per ${budget.per} twice: give it once.`)
    byPeriod.set(budget.per, { ...known, ...budget })
  }
  return [...byPeriod.values()]
})

/** Formats a budget for people: `$5.00 per day`. */
export const budgetText = ({ max_cost_micro_usd: cost, max_tokens: tokens, per }: Budget): string => {
  const limits = [
    ...(cost === undefined ? [] : [usdPlain(cost)]),
    ...(tokens === undefined ? [] : [`${tokens.toLocaleString("en-US")} tokens`]),
  ]
  return `${limits.join(" and ")} ${per === "total" ? "in total" : `per ${per}`}`
}
