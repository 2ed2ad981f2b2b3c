/** Keys of the gateway: a tenant's managers give them to programs and people. A key is shown once. */
import { Schema, Struct } from "effect"
import { budgetIssues, BudgetList } from "./budgets.ts"
import { AgentId } from "../jobs/agent.ts"
import type { ProblemIssue } from "../problems/problem.ts"
import { Refusal } from "../problems/refusal.ts"
import { time, timeText } from "../timeText.ts"
import { TargetFilter } from "../upstream/targets.ts"
import { Role } from "./roles.ts"

/** UUIDv7, so ids sort by creation. */
export const KeyId = Schema.String.check(Schema.isUUID(7)).pipe(Schema.brand("KeyId"))
export type KeyId = typeof KeyId.Type

const MAX_AGENTS = 100
export const MAX_PER_MINUTE = 1_000_000
export const MAX_KEY_WEIGHT = 100
export const MAX_AT_ONCE = 10_000

/** Shown in the audit trail. Not every database stores a NUL. */
const Name = Schema.String.check(
  Schema.isPattern(/^[^\p{Cc}\p{Cs}]{1,200}$/u, { expected: "1 to 200 characters without control characters" }),
)
const Roles = Schema.Array(Role)
  .check(Schema.isMinLength(1), Schema.isMaxLength(Role.literals.length))
  .annotate({ description: "What its holder may do; each role includes those before it." })
const Models = TargetFilter.annotate({
  description: "Targets that its calls may use, beside the agent's policy; without it, every target.",
})
const AgentIds = Schema.Array(AgentId)
  .check(Schema.isMinLength(1), Schema.isMaxLength(MAX_AGENTS))
  .annotate({ description: "Ids of the only agents that it may see and use; without it, all agents." })
const PerMinute = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_PER_MINUTE })).annotate({
  description: "Requests per minute, beside the limits of tenant and client.",
})
const Weight = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_KEY_WEIGHT })).annotate({
  description: "How many of its new jobs begin for one of a key without a weight, while both wait.",
})
const AtOnce = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_AT_ONCE }))
const RunningJobs = AtOnce.annotate({
  description:
    "Its jobs that may have begun and not ended, over all gateways; the others wait. A change holds for its open jobs.",
})
const CallsInFlight = AtOnce.annotate({
  description: "Its calls of models that one gateway has in flight, beside the tenant's limit.",
})
const Expiry = time("RFC 3339 time from which the key is refused.")

const limits = {
  models: Models,
  agents: AgentIds,
  budgets: BudgetList,
  requests_per_minute: PerMinute,
  weight: Weight,
  max_running_jobs: RunningJobs,
  max_calls_in_flight: CallsInFlight,
  expires_at: Expiry,
}

export const CreateKey = Schema.Struct({ name: Name, roles: Roles, ...Struct.map(limits, Schema.optionalKey) })
export type CreateKey = typeof CreateKey.Type

/** A change: given members replace the key's, `null` removes an optional one. */
export const UpdateKey = Schema.Struct({
  name: Schema.optionalKey(Name),
  roles: Schema.optionalKey(Roles),
  ...Struct.map(Struct.map(limits, Schema.NullOr), Schema.optionalKey),
})
export type UpdateKey = typeof UpdateKey.Type

export const StoredKey = Schema.Struct({
  id: KeyId,
  ...CreateKey.fields,
  created_at: Schema.DateTimeUtcFromString,
  created_by: Schema.String.annotate({ description: "Subject of the token, or name of the key, that made it." }),
})
export type StoredKey = typeof StoredKey.Type

export const GatewayKey = Schema.Struct({
  ...StoredKey.fields,
  last_used_at: Schema.optionalKey(timeText("Up to 10 s behind; absent if the key was never used.")),
}).annotate({ identifier: "Key" })
export type GatewayKey = typeof GatewayKey.Type

export const NewKey = Schema.Struct({
  ...StoredKey.fields,
  key: Schema.String.annotate({ description: "The key itself, shown only here; the gateway keeps its hash." }),
}).annotate({ identifier: "NewKey" })
export type NewKey = typeof NewKey.Type

/** The key does not exist or belongs to another tenant. */
export class KeyNotFound extends Refusal<KeyNotFound>()("KeyNotFound", {
  code: "key-not-found",
  status: 404,
  title: "There is no such key.",
}) {}

/** Mistakes of a key: one that makes keys or agents cannot be limited, because it could make unlimited ones. */
export const keyIssues = (
  { agents, budgets, models, roles }: Pick<StoredKey, "agents" | "budgets" | "models" | "roles">,
  path: string,
): ReadonlyArray<ProblemIssue> => {
  const manages = roles.some((role) => role === "manage" || role === "admin")
  const isLimited = [agents, budgets, models].some((limit) => limit !== undefined)
  return [
    ...(manages && isLimited
      ? [{ path: `${path}.roles`, message: "must be read or run if the key has budgets, agents or models" }]
      : []),
    ...budgetIssues(budgets ?? [], `${path}.budgets`),
  ]
}
