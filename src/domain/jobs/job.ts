/** Jobs: one task given to one agent, worked on until it ends, whatever happens to the servers meanwhile. */
import { Schema } from "effect"
import { AgentId, Metadata, ModeName } from "./agent.ts"
import { Message } from "../chat/chat.ts"
import { KeptReceipt } from "../protocol/keptReceipt.ts"
import { JobOptions, JobResult, Mode } from "./modes.ts"
import { Problem } from "../problems/problem.ts"
import { Refusal } from "../problems/refusal.ts"
import { Step } from "./step.ts"

/** UUIDv7, so ids sort by creation. */
export const JobId = Schema.String.check(Schema.isUUID(7)).pipe(Schema.brand("JobId"))
export type JobId = typeof JobId.Type

export const JobStatus = Schema.Literals(["queued", "running", "completed", "failed", "cancelled", "timed_out"])
export type JobStatus = typeof JobStatus.Type

/**
 * The state machine. `running → queued` happens when a worker died, when a server shuts down, and when a failure may be
 * retried; the ended states lead nowhere.
 */
export const TRANSITIONS: Readonly<Record<JobStatus, ReadonlyArray<JobStatus>>> = {
  queued: ["running", "cancelled"],
  running: ["queued", "completed", "failed", "cancelled", "timed_out"],
  completed: [],
  failed: [],
  cancelled: [],
  timed_out: [],
}

export const isEnded = (status: JobStatus): boolean => TRANSITIONS[status].length === 0

const NonNegativeInt = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const PositiveInt = Schema.Int.check(Schema.isGreaterThan(0))
const Time = Schema.DateTimeUtcFromString
const Messages = Schema.Array(Message).check(Schema.isMinLength(1))

/** What is to be done: a text, or a conversation that the answer continues. */
export const JobTask = Schema.Union([Schema.NonEmptyString, Messages])
export type JobTask = typeof JobTask.Type

const execute = {
  mode: Schema.optionalKey(ModeName),
  options: Schema.optionalKey(JobOptions),
  metadata: Schema.optionalKey(Metadata),
}

/** Body of an execution: `task` or `messages`, never both. */
export const ExecuteRequest = Schema.Union(
  [Schema.Struct({ ...execute, task: Schema.NonEmptyString }), Schema.Struct({ ...execute, messages: Messages })],
  { mode: "oneOf" },
)
export type ExecuteRequest = typeof ExecuteRequest.Type

export const taskOf = (request: ExecuteRequest): JobTask => ("task" in request ? request.task : request.messages)

/** Tokens; `cached_tokens` are part of `input_tokens`. */
const TokenUsage = Schema.Struct({
  input_tokens: NonNegativeInt,
  output_tokens: NonNegativeInt,
  cached_tokens: NonNegativeInt,
}).annotate({ identifier: "TokenUsage" })

/**
 * What all upstream calls of a job used, as the ledger has them: those that failed or were interrupted count, too, and
 * those that were made again because a crash came before their step was stored.
 */
const JobUsage = Schema.Struct({ ...TokenUsage.fields, calls: NonNegativeInt })

/**
 * What a job can come to, known before it starts: its calls if everything is asked that its mode may ask, and what they
 * cost if each fills the context of the dearest model that it may use, or the agent's limits end it. `null` where such a
 * model has no price. Calls that fail and are made again come on top, up to the limits.
 */
export const AtMost = Schema.Struct({ calls: NonNegativeInt, cost_micro_usd: Schema.NullOr(NonNegativeInt) })
export type AtMost = typeof AtMost.Type

/** What a step's upstream calls were and cost. `cost_micro_usd` is `null` when the model has no price. */
export const StepCall = Schema.Struct({
  provider: Schema.String,
  model: Schema.String,
  usage: Schema.NullOr(TokenUsage),
  cost_micro_usd: Schema.NullOr(NonNegativeInt),
  /** Upstream calls made for this step, retries and repairs included. */
  calls: PositiveInt,
})
export type StepCall = typeof StepCall.Type

/** A step that finished. A failed one may be followed by another of the same name, after a retry. */
export const JobStep = Schema.Struct({
  /** Unique among the steps that completed. It is for logs; what the step is, the members after it say. */
  name: Schema.NonEmptyString,
  ...Step.fields,
  status: Schema.Literals(["completed", "failed"]),
  /** `null` for a step that called no provider, or failed before it did. */
  provider: Schema.NullOr(Schema.String),
  model: Schema.NullOr(Schema.String),
  usage: Schema.NullOr(TokenUsage),
  cost_micro_usd: Schema.NullOr(NonNegativeInt),
  started_at: Time,
  finished_at: Time,
}).annotate({ identifier: "JobStep" })
export type JobStep = typeof JobStep.Type

/** A step that begins, and who is asked first: if another takes over, the step that finished says so. */
export const JobStepBegun = Schema.Struct({
  name: Schema.NonEmptyString,
  ...Step.fields,
  provider: Schema.String,
  model: Schema.String,
  started_at: Time,
}).annotate({ identifier: "JobStepBegun" })
export type JobStepBegun = typeof JobStepBegun.Type

/**
 * A job as its owner sees it. `attempt` counts from 1 and grows with retries, not with crashes. `cost_micro_usd` is
 * `null` when a call's cost is unknown. `expires_at` is when the job's record may go away: `JOB_RETENTION` after its
 * end, and until it has ended, after its creation. It stays as long as its idempotency key all the same.
 */
export const Job = Schema.Struct({
  id: JobId,
  agent_id: AgentId,
  agent_version: PositiveInt,
  mode: Mode,
  status: JobStatus,
  attempt: PositiveInt,
  task: JobTask,
  options: JobOptions,
  result: Schema.optionalKey(JobResult),
  problem: Schema.optionalKey(Problem),
  usage: JobUsage,
  cost_micro_usd: Schema.NullOr(NonNegativeInt),
  at_most: Schema.optionalKey(AtMost),
  steps: Schema.Array(JobStep),
  created_at: Time,
  started_at: Schema.optionalKey(Time),
  finished_at: Schema.optionalKey(Time),
  expires_at: Time,
  trace_id: Schema.String,
  metadata: Metadata,
})
export type Job = typeof Job.Type

/** What a sealed proxy signed of the call of a step. */
export const JobReceipt = Schema.Struct({ step: Schema.NonEmptyString, ...KeptReceipt.fields })
export type JobReceipt = typeof JobReceipt.Type

/**
 * What a job's event stream carries; `id` grows within a job and resumes the stream (`Last-Event-ID`). Beginnings are told to
 * those who are there: they have no `id`, and are not told again.
 */
export type JobEvent =
  | { readonly _tag: "Begun"; readonly step: JobStepBegun }
  | { readonly _tag: "Step"; readonly id: number; readonly step: JobStep }
  | { readonly _tag: "Ended"; readonly id: number; readonly job: Job }

/** A caller's name for one request, so that repeating it does not repeat the work. */
export const IdempotencyKey = Schema.String.check(
  Schema.isPattern(/^[\x21-\x7e]{1,255}$/, { expected: "1 to 255 visible ASCII characters" }),
).pipe(Schema.brand("IdempotencyKey"))
export type IdempotencyKey = typeof IdempotencyKey.Type

/** No such job, or another tenant's. */
export class JobNotFound extends Refusal<JobNotFound>()("JobNotFound", {
  code: "job-not-found",
  status: 404,
  title: "There is no such job.",
}) {}

/** The key was used with another body within the last 24 hours. */
export class IdempotencyMismatch extends Refusal<IdempotencyMismatch>()("IdempotencyMismatch", {
  code: "idempotency-key-reused",
  status: 422,
  title: "This Idempotency-Key was used with another body; use a new key for a new request.",
}) {}

/** A request with the same key is being carried out right now. */
export class IdempotencyInFlight extends Refusal<IdempotencyInFlight>()("IdempotencyInFlight", {
  code: "idempotency-in-flight",
  status: 409,
  title: "A request with this Idempotency-Key is still in flight; repeat it in a moment.",
  retryable: true,
}) {}
