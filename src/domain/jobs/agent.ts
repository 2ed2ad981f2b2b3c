/** Agents: what a tenant sets up once and then gives tasks to. */
import { Schema, SchemaTransformation } from "effect"
import { Mode } from "./modes.ts"
import { Rounds } from "./modes/adversarial.ts"
import { Effort } from "./modes/description.ts"
import { Refusal } from "../problems/refusal.ts"
import { TargetFilter } from "../upstream/targets.ts"

/**
 * Who owns a row: what the caller's token claims, or its user behind a prefix. One tenant never sees another's rows.
 */
export const TenantId = Schema.String.check(
  Schema.isPattern(/^[^\p{Cc}\p{Cs}]{1,260}$/u, { expected: "1 to 260 characters without control characters" }),
).pipe(Schema.brand("TenantId"))
export type TenantId = typeof TenantId.Type

/** UUIDv7, so ids sort by creation. */
export const AgentId = Schema.String.check(Schema.isUUID(7)).pipe(Schema.brand("AgentId"))
export type AgentId = typeof AgentId.Type

/** Text longer than this is longer than any mode's name, so it is refused unread. */
const MAX_MODE_NAME = 32

/** A mode as callers may write it: `Adversarial` is `adversarial`. */
export const ModeName = Schema.String.check(Schema.isMaxLength(MAX_MODE_NAME))
  .annotate({
    description: `${Mode.literals.join(" or ")}, in any case`,
    examples: [...Mode.literals],
  })
  .pipe(
    Schema.decodeTo(
      Mode,
      SchemaTransformation.transform<Mode, string>({
        // The cast is checked at once: the schema `Mode` that this decodes to refuses every other text.
        decode: (name) => name.toLowerCase() as Mode,
        encode: (mode) => mode,
      }),
    ),
  )

/** The longest name of an agent. */
export const MAX_NAME = 200
const MAX_ROLE = 1000
/** Every call of a model sends them along, and every job keeps a copy. */
const MAX_INSTRUCTIONS = 100_000
const MAX_METADATA_ENTRIES = 32
const MAX_METADATA_KEY = 64
const MAX_METADATA_VALUE = 1024
/** A day. A longer task should be divided into several jobs. */
export const MAX_TIMEOUT_SECONDS = 86_400

/** The caller's own labels: at most 32, keys up to 64 characters, values up to 1024. */
export const Metadata = Schema.Record(
  Schema.String.check(Schema.isBetweenLength(1, MAX_METADATA_KEY)),
  Schema.String.check(Schema.isMaxLength(MAX_METADATA_VALUE)),
).check(Schema.isMaxProperties(MAX_METADATA_ENTRIES))
export type Metadata = typeof Metadata.Type

const PositiveInt = Schema.Int.check(Schema.isGreaterThan(0))
const TimeoutSeconds = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_TIMEOUT_SECONDS }))

const limits = {
  /** Calls of models that one job may make, those included that failed. */
  max_calls: Schema.optionalKey(PositiveInt),
  /** Tokens, input and output together, that one job may use. */
  max_tokens: Schema.optionalKey(PositiveInt),
  /** What one job may cost, in millionths of a US dollar. */
  max_cost_micro_usd: Schema.optionalKey(PositiveInt),
}

/** `timeout_seconds` bounds the time that workers spend on a job; waiting and downtime do not count. */
export const AgentLimits = Schema.Struct({ ...limits, max_rounds: Rounds, timeout_seconds: TimeoutSeconds })
export type AgentLimits = typeof AgentLimits.Type

export const DEFAULT_LIMITS = { max_rounds: 2, timeout_seconds: 600 } as const satisfies AgentLimits
export const DEFAULT_MODE: Mode = "adversarial"

const PartialLimits = Schema.Struct({
  ...limits,
  max_rounds: Schema.optionalKey(Rounds),
  timeout_seconds: Schema.optionalKey(TimeoutSeconds),
})

const ChangedLimits = Schema.Struct({
  ...PartialLimits.fields,
  max_calls: Schema.optionalKey(Schema.NullOr(PositiveInt)),
  max_tokens: Schema.optionalKey(Schema.NullOr(PositiveInt)),
  max_cost_micro_usd: Schema.optionalKey(Schema.NullOr(PositiveInt)),
})

const Name = Schema.String.check(Schema.isBetweenLength(1, MAX_NAME))
const AgentRole = Schema.String.check(Schema.isMaxLength(MAX_ROLE))
const Instructions = Schema.String.check(Schema.isMaxLength(MAX_INSTRUCTIONS))

/** `version` counts updates from 1; it is the resource's ETag. */
export const Agent = Schema.Struct({
  id: AgentId,
  name: Name,
  role: Schema.optionalKey(AgentRole),
  instructions: Schema.optionalKey(Instructions),
  default_mode: Mode,
  /** How much its jobs may take, unless they say otherwise; `medium` where it is not set. */
  default_effort: Schema.optionalKey(Effort),
  model_policy: TargetFilter,
  limits: AgentLimits,
  metadata: Metadata,
  version: PositiveInt,
  created_at: Schema.DateTimeUtcFromString,
  updated_at: Schema.DateTimeUtcFromString,
})
export type Agent = typeof Agent.Type

/** A new agent; whatever is left out takes its default. */
export const CreateAgent = Schema.Struct({
  name: Name,
  role: Schema.optionalKey(AgentRole),
  instructions: Schema.optionalKey(Instructions),
  default_mode: Schema.optionalKey(ModeName),
  default_effort: Schema.optionalKey(Effort),
  model_policy: Schema.optionalKey(TargetFilter),
  limits: Schema.optionalKey(PartialLimits),
  metadata: Schema.optionalKey(Metadata),
})
export type CreateAgent = typeof CreateAgent.Type

/** A change: members given replace the agent's, `null` removes an optional one, `limits` are merged in the same way. */
export const UpdateAgent = Schema.Struct({
  name: Schema.optionalKey(Name),
  role: Schema.optionalKey(Schema.NullOr(AgentRole)),
  instructions: Schema.optionalKey(Schema.NullOr(Instructions)),
  default_mode: Schema.optionalKey(ModeName),
  default_effort: Schema.optionalKey(Effort),
  model_policy: Schema.optionalKey(TargetFilter),
  limits: Schema.optionalKey(ChangedLimits),
  metadata: Schema.optionalKey(Metadata),
})
export type UpdateAgent = typeof UpdateAgent.Type

/** The strong entity tag (RFC 9110 §8.8.3) of an agent's version, quotes included. */
export const agentETag = (agent: Pick<Agent, "version">): string => `"${agent.version}"`

/**
 * Whether an `If-Match` header (RFC 9110 §13.1.1) allows a change to what has this `etag`. The comparison is strong, so
 * weak tags never match.
 */
export const ifMatchAllows = (header: string, etag: string): boolean =>
  header.trim() === "*" || header.split(",").some((tag) => tag.trim() === etag)

/** No such agent, or another tenant's. */
export class AgentNotFound extends Refusal<AgentNotFound>()("AgentNotFound", {
  code: "agent-not-found",
  status: 404,
  title: "There is no such agent.",
}) {}

/** The agent changed since the version that the caller names in `If-Match`; `ETag` says the one now. */
export class AgentStale extends Refusal<AgentStale>()("AgentStale", {
  code: "agent-stale",
  status: 412,
  title: "The agent changed meanwhile; read it again and repeat the change on what it is now.",
}) {}
