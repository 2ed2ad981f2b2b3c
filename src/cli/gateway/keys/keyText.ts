/** Formats a key for people. */
import type { GatewayKey } from "../../../client/gateway/GatewayKeys.ts"
import { table } from "../../table.ts"
import { age } from "../remote.ts"
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

/** Everything about a key but its secret, which the gateway does not have. */
export const keyText = (key: GatewayKey, now: number): string =>
  table([
    ["id", key.id],
    ["name", key.name],
    ["roles", key.roles.join(", ")],
    ["budgets", budgetsText(key)],
    ["models", modelsText(key)],
    ["agents", key.agents?.join(", ") ?? "all"],
    ["rate", key.requests_per_minute === undefined ? "the tenant's" : `${key.requests_per_minute} requests per minute`],
    ["expires", key.expires_at ?? "never"],
    ["used", usedText(key, now)],
    ["created", `${key.created_at} by ${key.created_by}`],
  ])
