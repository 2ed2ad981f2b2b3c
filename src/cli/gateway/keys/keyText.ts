import { Clock, Console, Effect } from "effect"
import type { BudgetUse } from "../../../client/gateway/GatewayBudgets.ts"
import type { GatewayClient } from "../../../client/gateway/GatewayClient.ts"
import type { GatewayKey } from "../../../client/gateway/GatewayKeys.ts"
import { usd } from "../../../domain/routing/dollars.ts"
import { printableJson } from "../../printable.ts"
import { table } from "../../table.ts"
import { age, ask, type CallInput, type CallOptions, connect } from "../remote.ts"
import { budgetText } from "./budgetText.ts"

export const budgetsText = ({ budgets }: GatewayKey): string => budgets?.map(budgetText).join(", ") ?? "none"

/** How long ago the key was used. The gateway writes uses every 10 s. */
export const usedText = ({ last_used_at }: GatewayKey, now: number): string =>
  last_used_at === undefined ? "never" : `${age(last_used_at, now)} ago`

const modelsText = ({ models }: GatewayKey): string => {
  const { allow, deny } = models ?? {}
  const parts = [
    ...(allow === undefined ? [] : [`only ${allow.join(", ")}`]),
    ...(deny === undefined ? [] : [`not ${deny.join(", ")}`]),
  ]
  return parts.length === 0 ? "all" : parts.join("; ")
}

/** Spent and remaining amounts of a budget, such as `$1.20 spent, $3.80 left of $5.00 per day`. */
const useText = (use: BudgetUse): string => {
  const amounts = (cost: number | null, tokens: number | null) =>
    [
      ...(use.max_cost_micro_usd === undefined ? [] : [usd(cost)]),
      ...(use.max_tokens === undefined ? [] : [`${(tokens ?? 0).toLocaleString("en-US")} tokens`]),
    ].join(" and ")
  const spent = amounts(use.spent_micro_usd, use.spent_tokens)
  return `${spent} spent, ${amounts(use.left_micro_usd, use.left_tokens)} left of ${budgetText(use)}`
}

/** Everything about a key but its secret, which the gateway does not have. */
const keyText = (key: GatewayKey, uses: ReadonlyArray<BudgetUse>, now: number): string =>
  table([
    ["id", key.id],
    ["name", key.name],
    ["roles", key.roles.join(", ")],
    ...(uses.length === 0 ? [["budgets", "none"]] : uses.map((use) => ["budget", useText(use)])),
    ["models", modelsText(key)],
    ["agents", key.agents?.join(", ") ?? "all"],
    ["rate", key.requests_per_minute === undefined ? "the tenant's" : `${key.requests_per_minute} requests per minute`],
    ["weight", String(key.weight ?? 1)],
    ["jobs", key.max_running_jobs === undefined ? "any number at once" : `at most ${key.max_running_jobs} at once`],
    ["calls", key.max_calls_in_flight === undefined ? "the tenant's" : `at most ${key.max_calls_in_flight} in flight`],
    ["expires", key.expires_at ?? "never"],
    ["used", usedText(key, now)],
    ["created", `${key.created_at} by ${key.created_by}`],
  ])

/** Makes a call for a key, and prints the key as JSON, or for people with what is spent of its budgets. */
export const askAndPrintKey = Effect.fnUntraced(function* (
  { gateway: address, json }: CallInput,
  call: (gateway: GatewayClient, options: CallOptions) => Promise<GatewayKey>,
) {
  const gateway = yield* connect(address)
  const key = yield* ask((signal) => call(gateway, { signal }))
  if (json) return yield* Console.log(printableJson(key))
  const uses = yield* ask((signal) => gateway.budgets.get({ key: key.id, signal }))
  yield* Console.log(keyText(key, uses, yield* Clock.currentTimeMillis))
})
