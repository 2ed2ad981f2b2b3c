/** Agents, which a tenant configures once and then gives tasks. */
import { Schema, SchemaTransformation, Struct } from "effect"
import { BudgetList } from "../access/budgets.ts"
import { BuiltInMode, MAX_MODE_NAME, Mode } from "./modes.ts"
import { Rounds } from "./modes/adversarial.ts"
import { Turns } from "./modes/direct.ts"
import { Effort } from "./modes/description.ts"
import { AskPerson } from "./question.ts"
import { HttpTools, McpServers, NewHttpTools } from "./tool.ts"
import { WebhookUrl } from "./webhook.ts"
import { Refusal } from "../problems/refusal.ts"
import { TargetFilter } from "../upstream/targets.ts"

/** Owner of a row: the tenant claim of the caller's token, or its user with a prefix. Tenants never see each other's rows. */
export const TenantId = Schema.String.check(
  Schema.isPattern(/^[^\p{Cc}\p{Cs}]{1,260}$/u, { expected: "1 to 260 characters without control characters" }),
).pipe(Schema.brand("TenantId"))
export type TenantId = typeof TenantId.Type

/** UUIDv7, so ids sort by creation. */
export const AgentId = Schema.String.check(Schema.isUUID(7)).pipe(Schema.brand("AgentId"))
export type AgentId = typeof AgentId.Type

/** A mode in any case: `Adversarial` is `adversarial`. */
export const ModeName = Schema.String.check(Schema.isMaxLength(MAX_MODE_NAME))
  .annotate({
    description: `${BuiltInMode.literals.join(", ")}, or a mode of the operator's program, in any case`,
    examples: [...BuiltInMode.literals],
  })
  .pipe(
    Schema.decodeTo(
      Mode,
      SchemaTransformation.transform({ decode: (name) => name.toLowerCase(), encode: (mode) => mode }),
    ),
  )

export const MAX_NAME = 200
const MAX_ROLE = 1000
/** Sent with every model call and copied into every job. */
const MAX_INSTRUCTIONS = 100_000
const MAX_METADATA_ENTRIES = 32
const MAX_METADATA_KEY = 64
const MAX_METADATA_VALUE = 1024
/** A day. A longer task should be divided into several jobs. */
export const MAX_TIMEOUT_SECONDS = 86_400

export const Metadata = Schema.Record(
  Schema.String.check(Schema.isBetweenLength(1, MAX_METADATA_KEY)),
  Schema.String.check(Schema.isMaxLength(MAX_METADATA_VALUE)),
)
  .check(Schema.isMaxProperties(MAX_METADATA_ENTRIES))
  .annotate({ description: "Labels for the caller's use: at most 32, keys up to 64 characters, values up to 1024." })
export type Metadata = typeof Metadata.Type

const PositiveInt = Schema.Int.check(Schema.isGreaterThan(0))
const TimeoutSeconds = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_TIMEOUT_SECONDS })).annotate({
  description: "Seconds that workers may spend on a job; waiting and downtime do not count.",
})
const MaxRounds = Rounds.annotate({ description: "Maximum rounds of debate." })
const MAX_TURNS = { description: "Maximum calls of a model for one answer that may take tool calls." }
const MAX_CALLS = { description: "Model calls per job, failed ones included." }
const MAX_TOKENS = { description: "Input plus output tokens per job; estimated where a provider reports none." }
const MAX_COST = { description: "Millionths of a US dollar per job; estimated where a provider reports no tokens." }

const limits = {
  max_turns: Schema.optionalKey(Turns.annotate(MAX_TURNS)),
  max_calls: Schema.optionalKey(PositiveInt.annotate(MAX_CALLS)),
  max_tokens: Schema.optionalKey(PositiveInt.annotate(MAX_TOKENS)),
  max_cost_micro_usd: Schema.optionalKey(PositiveInt.annotate(MAX_COST)),
}

export const AgentLimits = Schema.Struct({ ...limits, max_rounds: MaxRounds, timeout_seconds: TimeoutSeconds })
export type AgentLimits = typeof AgentLimits.Type

export const DEFAULT_LIMITS = { max_rounds: 2, timeout_seconds: 600 } as const satisfies AgentLimits
export const DEFAULT_MODE: BuiltInMode = "adversarial"

const PartialLimits = Schema.Struct({
  ...limits,
  max_rounds: Schema.optionalKey(MaxRounds),
  timeout_seconds: Schema.optionalKey(TimeoutSeconds),
})

const ChangedLimits = Schema.Struct({
  ...PartialLimits.fields,
  max_turns: Schema.optionalKey(Schema.NullOr(Turns).annotate(MAX_TURNS)),
  max_calls: Schema.optionalKey(Schema.NullOr(PositiveInt).annotate(MAX_CALLS)),
  max_tokens: Schema.optionalKey(Schema.NullOr(PositiveInt).annotate(MAX_TOKENS)),
  max_cost_micro_usd: Schema.optionalKey(Schema.NullOr(PositiveInt).annotate(MAX_COST)),
})

const Name = Schema.String.check(Schema.isBetweenLength(1, MAX_NAME))
const AgentRole = Schema.String.check(Schema.isMaxLength(MAX_ROLE)).annotate({
  description: "Who the agent is, in one line of the system prompt.",
})
const Instructions = Schema.String.check(Schema.isMaxLength(MAX_INSTRUCTIONS)).annotate({
  description: "Sent to the models with every task.",
})
const DefaultEffort = Effort.annotate({ description: "Effort of jobs that set none; `medium` if left out." })

/** Optional members of a new agent. */
const members = {
  role: AgentRole,
  instructions: Instructions,
  default_mode: ModeName,
  default_effort: DefaultEffort,
  model_policy: TargetFilter,
  tools: NewHttpTools,
  mcp_servers: McpServers,
  ask_person: AskPerson,
  webhook_url: WebhookUrl,
  limits: PartialLimits,
  budgets: BudgetList,
  metadata: Metadata,
}
const optional = Struct.map(members, Schema.optionalKey)

export const Agent = Schema.Struct({
  id: AgentId,
  name: Name,
  ...optional,
  tools: Schema.optionalKey(HttpTools),
  default_mode: Mode,
  model_policy: TargetFilter,
  limits: AgentLimits,
  metadata: Metadata,
  version: PositiveInt.annotate({ description: "Counts changes from 1; it is the ETag." }),
  created_at: Schema.DateTimeUtcFromString,
  updated_at: Schema.DateTimeUtcFromString,
}).annotate({ identifier: "Agent" })
export type Agent = typeof Agent.Type

/** A new agent; omitted members take their defaults. */
export const CreateAgent = Schema.Struct({ name: Name, ...optional })
export type CreateAgent = typeof CreateAgent.Type

const removable = Struct.omit(members, ["default_mode", "default_effort", "model_policy", "limits", "metadata"])

/** A change: given members replace the agent's, `null` removes an optional one, `limits` are merged in the same way. */
export const UpdateAgent = Schema.Struct({
  name: Schema.optionalKey(Name),
  ...optional,
  ...Struct.map(Struct.map(removable, Schema.NullOr), Schema.optionalKey),
  limits: Schema.optionalKey(ChangedLimits),
})
export type UpdateAgent = typeof UpdateAgent.Type

/** The strong entity tag (RFC 9110 §8.8.3) of an agent's version, quotes included. */
export const agentETag = (agent: Pick<Agent, "version">): string => `"${agent.version}"`

/** Whether `If-Match` (RFC 9110 §13.1.1) allows a change of `etag`. The comparison is strong: weak tags never match. */
export const ifMatchAllows = (header: string, etag: string): boolean =>
  header.trim() === "*" || header.split(",").some((tag) => tag.trim() === etag)

/** The agent does not exist or belongs to another tenant. */
export class AgentNotFound extends Refusal<AgentNotFound>()("AgentNotFound", {
  code: "agent-not-found",
  status: 404,
  title: "There is no such agent.",
}) {}

export class TooManyAgents extends Refusal<TooManyAgents>()("TooManyAgents", {
  code: "too-many-agents",
  status: 409,
  title: "The tenant has as many agents as it may have; delete one that is not needed.",
}) {}

/** The agent has a newer version than `If-Match` names; `ETag` has the current one. */
export class AgentStale extends Refusal<AgentStale>()("AgentStale", {
  code: "agent-stale",
  status: 412,
  title: "The agent changed meanwhile; read it again, and apply the change to its newest version.",
}) {}
