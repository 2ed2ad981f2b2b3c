/** Jobs: one task given to one agent. A job survives restarts of the servers. */
import { Schema } from "effect"
import { AgentId, Metadata, ModeName } from "./agent.ts"
import { Message } from "../chat/chat.ts"
import { Concurrency, JobConcurrency } from "./concurrency.ts"
import { KeptReceipt } from "../protocol/keptReceipt.ts"
import { JobOptions, JobResult, Mode } from "./modes.ts"
import { Problem } from "../problems/problem.ts"
import { Refusal } from "../problems/refusal.ts"
import { timeText } from "../timeText.ts"
import { JobQuestion } from "./question.ts"
import { Step } from "./step.ts"
import { ThreadId } from "./thread.ts"
import { ToolUse } from "./tool.ts"
import { WebhookUrl } from "./webhook.ts"

/** UUIDv7, so ids sort by creation. */
export const JobId = Schema.String.check(Schema.isUUID(7)).pipe(Schema.brand("JobId"))
export type JobId = typeof JobId.Type

export const JobStatus = Schema.Literals([
  "queued",
  "running",
  "input_required",
  "completed",
  "failed",
  "cancelled",
  "timed_out",
])
export type JobStatus = typeof JobStatus.Type

/**
 * The state machine. A job is `input_required` while it waits for a person. `running → queued` happens when a worker dies, a server shuts down, or a failure may be retried.
 * Its owner can resume a job that failed or ran out of time; other ended states have no transitions.
 */
export const TRANSITIONS: Readonly<Record<JobStatus, ReadonlyArray<JobStatus>>> = {
  queued: ["running", "cancelled"],
  running: ["queued", "input_required", "completed", "failed", "cancelled", "timed_out"],
  input_required: ["queued", "cancelled"],
  completed: [],
  failed: ["queued"],
  cancelled: [],
  timed_out: ["queued"],
}

const ENDED: ReadonlySet<JobStatus> = new Set(["completed", "failed", "cancelled", "timed_out"])

export const isEnded = (status: JobStatus): boolean => ENDED.has(status)

const PositiveInt = Schema.Int.check(Schema.isGreaterThan(0))
const Time = Schema.DateTimeUtcFromString
const Messages = Schema.Array(Message).check(Schema.isMinLength(1))

export const JobTask = Schema.Union([Schema.NonEmptyString, Messages]).annotate({
  description: "A text, or a conversation that the answer continues.",
})
export type JobTask = typeof JobTask.Type

export const messagesOf = (task: JobTask): ReadonlyArray<Message> =>
  typeof task === "string" ? [{ role: "user", content: task }] : task

/** In rising order. */
export const JobPriority = Schema.Literals(["low", "normal", "high"]).annotate({
  description: "Jobs with a higher priority begin before others of the tenant. `high` needs the role `manage`.",
})
export type JobPriority = typeof JobPriority.Type

const execute = {
  priority: Schema.optionalKey(JobPriority),
  concurrency: Schema.optionalKey(Concurrency),
  mode: Schema.optionalKey(ModeName),
  options: Schema.optionalKey(JobOptions),
  metadata: Schema.optionalKey(Metadata),
  webhook_url: Schema.optionalKey(WebhookUrl),
  thread_id: Schema.optionalKey(
    ThreadId.annotate({ description: "The thread that the job continues: it follows the thread's completed jobs." }),
  ),
}

export const ExecuteRequest = Schema.Union(
  [
    Schema.Struct({ ...execute, task: Schema.NonEmptyString }),
    Schema.Struct({
      ...execute,
      messages: Messages.annotate({ description: "A conversation that the answer continues, in place of `task`." }),
    }),
  ],
  { mode: "oneOf" },
)
export type ExecuteRequest = typeof ExecuteRequest.Type

export const taskOf = (request: ExecuteRequest): JobTask => ("task" in request ? request.task : request.messages)

const TokenUsage = Schema.Struct({
  input_tokens: Schema.Natural,
  output_tokens: Schema.Natural,
  cached_tokens: Schema.Natural.annotate({
    description: "The part of `input_tokens` that providers read from caches.",
  }),
}).annotate({ identifier: "TokenUsage" })

/** Sums over a job's upstream calls in the ledger, failed, interrupted and repeated ones included. */
const JobUsage = Schema.Struct({
  ...TokenUsage.fields,
  calls: Schema.Natural.annotate({ description: "Provider calls, retries included." }),
})

const CostOrNull = Schema.NullOr(Schema.Natural).annotate({
  description: "Millionths of a US dollar; `null` if a price or a token count is unknown.",
})
const UsageOrNull = Schema.NullOr(TokenUsage).annotate({
  description: "Tokens as the providers counted them; `null` if none did.",
})

/**
 * Upper bound of a job, computed before it starts: all calls its mode may make, each filling the context of the most
 * expensive permitted model, capped by the agent's limits. The cost is `null` if such a model has no price.
 */
export const AtMost = Schema.Struct({ calls: Schema.Natural, cost_micro_usd: CostOrNull }).annotate({
  description: "Upper bound, computed before the job starts. Repeated calls come on top, up to the limits.",
})
export type AtMost = typeof AtMost.Type

export const JobWaiting = Schema.Struct({
  reason: Schema.Literals(["worker", "tenant-limit", "key-limit", "concurrency", "retry", "budget", "timer"]).annotate({
    description:
      "`worker`: all workers are busy. `tenant-limit`: the tenant has as many running jobs as one gateway gives it (JOB_TENANT_PERCENT). `key-limit`: as many jobs of its caller's key as may run (`max_running_jobs`) have begun. `concurrency`: as many with its concurrency key have. `retry`: the pause after a failure or crash. `budget`: a budget renews. `timer`: its program waits for a time.",
  }),
  until: Schema.optionalKey(timeText("When it may run, unless it waits for a worker.")),
})
export type JobWaiting = typeof JobWaiting.Type

/** The upstream calls of a step, summed up. */
export const StepCall = Schema.Struct({
  provider: Schema.String,
  model: Schema.String,
  usage: UsageOrNull,
  cost_micro_usd: CostOrNull,
  /** Upstream calls made for this step, retries and repairs included. */
  calls: PositiveInt,
})
export type StepCall = typeof StepCall.Type

export const JobStep = Schema.Struct({
  name: Schema.NonEmptyString.annotate({ description: "Unique among the completed steps, for logs." }),
  ...Step.fields,
  status: Schema.Literals(["completed", "failed"]).annotate({
    description: "After a retry, a failed step may be followed by one of the same name.",
  }),
  problem: Schema.optionalKey(Problem),
  tool: Schema.optionalKey(ToolUse.annotate({ description: "The tool call, if the step was one." })),
  provider: Schema.NullOr(Schema.String).annotate({ description: "`null` if the step called no provider." }),
  model: Schema.NullOr(Schema.String).annotate({ description: "`null` if the step called no provider." }),
  usage: UsageOrNull,
  cost_micro_usd: CostOrNull,
  started_at: Time,
  finished_at: Time,
}).annotate({ identifier: "JobStep" })
export type JobStep = typeof JobStep.Type

/**
 * A job as its owner sees it. `expires_at` is `JOB_RETENTION` after its end or, until it has ended, after its creation.
 * The record stays at least as long as its idempotency key.
 */
export const Job = Schema.Struct({
  id: JobId,
  agent_id: AgentId,
  agent_version: PositiveInt.annotate({ description: "The version of the agent that the job works with." }),
  thread_id: Schema.optionalKey(ThreadId.annotate({ description: "Absent if the job stands alone." })),
  mode: Mode,
  status: JobStatus.annotate({
    description: "A job that is `completed`, `failed`, `cancelled` or `timed_out` has ended.",
  }),
  priority: JobPriority,
  concurrency: Schema.optionalKey(JobConcurrency),
  attempt: PositiveInt.annotate({ description: "Counts from 1 and grows with retries, not with crashes." }),
  task: JobTask,
  options: JobOptions,
  result: Schema.optionalKey(
    JobResult.annotate({ description: "The answer with its verdict; its members depend on `mode`." }),
  ),
  problem: Schema.optionalKey(Problem),
  waiting: Schema.optionalKey(JobWaiting.annotate({ description: "While the job is `queued`: for what." })),
  question: Schema.optionalKey(
    JobQuestion.annotate({ description: "While the job is `input_required`: what it waits for." }),
  ),
  usage: JobUsage.annotate({ description: "Sums over all calls, failed and repeated ones included." }),
  cost_micro_usd: CostOrNull,
  at_most: Schema.optionalKey(AtMost),
  steps: Schema.Array(JobStep).annotate({ description: "The finished steps, in order." }),
  created_at: Time,
  started_at: Schema.optionalKey(Time),
  finished_at: Schema.optionalKey(Time),
  expires_at: Time,
  trace_id: Schema.String.annotate({ description: "Finds the job in the operator's traces and logs." }),
  metadata: Metadata,
}).annotate({ identifier: "Job" })
export type Job = typeof Job.Type

/** The statements that a sealed proxy signed for the call of a step. */
export const JobReceipt = Schema.Struct({
  step: Schema.NonEmptyString.annotate({ description: "The `name` of the step." }),
  ...KeptReceipt.fields,
})
export type JobReceipt = typeof JobReceipt.Type

export const IdempotencyKey = Schema.String.check(
  Schema.isPattern(/^[\x21-\x7e]{1,255}$/, { expected: "1 to 255 visible ASCII characters" }),
)
  .annotate({ description: "The caller's name for this request; repeating it does not repeat the work." })
  .pipe(Schema.brand("IdempotencyKey"))
export type IdempotencyKey = typeof IdempotencyKey.Type

/** The job does not exist or belongs to another tenant. */
export class JobNotFound extends Refusal<JobNotFound>()("JobNotFound", {
  code: "job-not-found",
  status: 404,
  title: "There is no such job.",
}) {}

/** Modes other than `direct` compare texts, so they cannot promise an output of a schema. */
export class OutputSchemaRefused extends Refusal<OutputSchemaRefused>()("OutputSchemaRefused", {
  code: "output-schema-refused",
  status: 422,
  title: "Only the direct mode gives an output that fits a schema.",
  detail: 'Set mode to "direct", or leave options.output_schema out.',
}) {}

export class JobNotResumable extends Refusal<JobNotResumable>()("JobNotResumable", {
  code: "job-not-resumable",
  status: 409,
  title: "Only a job that failed or timed out can be resumed; give the agent the task again.",
}) {}

export class JobKeyRefused extends Refusal<JobKeyRefused>()("JobKeyRefused", {
  code: "job-key-refused",
  status: 403,
  title: "The job's key is revoked, expired or may not run this any more; give the agent the task again.",
}) {}

export class TooManyJobs extends Refusal<TooManyJobs>()("TooManyJobs", {
  code: "too-many-jobs",
  status: 429,
  title: "The tenant has as many open jobs as it may have; wait until some end, or cancel some.",
}) {}

export class IdempotencyMismatch extends Refusal<IdempotencyMismatch>()("IdempotencyMismatch", {
  code: "idempotency-key-reused",
  status: 422,
  title: "This Idempotency-Key was used with another body; use a new key for a new request.",
}) {}

export class IdempotencyInFlight extends Refusal<IdempotencyInFlight>()("IdempotencyInFlight", {
  code: "idempotency-in-flight",
  status: 409,
  title: "A request with this Idempotency-Key is still in flight; repeat it in a moment.",
  retryable: true,
}) {}
