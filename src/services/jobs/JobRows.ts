/** Rows of jobs and steps, and their public form. */
import { BudgetList } from "../../domain/access/budgets.ts"
import type { KeyLimits } from "../../domain/access/identity.ts"
import { TargetFilter } from "../../domain/upstream/targets.ts"
import { DateTime, Schema, SchemaTransformation } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { AgentId, Metadata, TenantId } from "../../domain/jobs/agent.ts"
import {
  AtMost,
  type Job,
  JobId,
  JobPriority,
  JobStatus,
  type JobStep,
  JobTask,
  type JobWaiting,
  StepCall,
} from "../../domain/jobs/job.ts"
import { KeptReceipt } from "../../domain/protocol/keptReceipt.ts"
import { JobOptions, JobResult, Mode } from "../../domain/jobs/modes.ts"
import type { Effort } from "../../domain/jobs/modes/description.ts"
import { Problem } from "../../domain/problems/problem.ts"
import { storedSpan } from "../../domain/operations/traceContext.ts"
import { Step } from "../../domain/jobs/step.ts"
import { ThreadId } from "../../domain/jobs/thread.ts"
import { ToolUse } from "../../domain/jobs/tool.ts"
import { NOTHING_SPENT, type Spent } from "../routing/Ledger.ts"
import { databaseTime } from "../databaseTime.ts"
import { type Columns, decodeRows, storedJson } from "../storedRows.ts"
import { HELD_BY, shownKey } from "./concurrency.ts"
import { shownQuestion, StoredQuestion } from "./storedQuestion.ts"

const Time = Schema.DateTimeUtcFromMillis

/** The number of a priority, by which the queue sorts. */
const placeOf = (priority: JobPriority): number => JobPriority.literals.indexOf(priority)
const StoredPriority = Schema.Int.pipe(
  Schema.decodeTo(
    JobPriority,
    SchemaTransformation.transform({ decode: (place) => JobPriority.literals[place] ?? "normal", encode: placeOf }),
  ),
)

/** A job's progress, which waiting clients read again and again. */
const JobState = Schema.Struct({
  id: JobId,
  tenant: TenantId,
  mode: Mode,
  status: JobStatus,
  /** The highest id of its steps. */
  last_event: Schema.Int,
  created_at: Time,
})
export const decodeStates = decodeRows("jobs", JobState)
export type JobState = typeof JobState.Type
const columnsOf = (fields: object): string =>
  Object.keys(fields)
    .map((name) => `jobs.${name}`)
    .join(", ")
export const STATE_COLUMNS = columnsOf(JobState.fields)

/** The columns of a job's public part, except its steps and usage. */
const ShownColumns = Schema.Struct({
  ...JobState.fields,
  agent_id: AgentId,
  agent_version: Schema.Int,
  thread: Schema.NullOr(ThreadId),
  priority: StoredPriority,
  attempt: Schema.Int,
  task: storedJson(JobTask),
  options: storedJson(JobOptions),
  metadata: storedJson(Metadata),
  result: Schema.NullOr(storedJson(JobResult)),
  problem: Schema.NullOr(storedJson(Problem)),
  question: Schema.NullOr(StoredQuestion),
  /** `null` if the bound is unknown. */
  at_most: Schema.NullOr(storedJson(AtMost)),
  /** Trace context of the request that enqueued the job, as `storeTrace` writes it. */
  traceparent: Schema.String,
  started_at: Schema.NullOr(Time),
  finished_at: Schema.NullOr(Time),
  expires_at: Time,
  /** By the database's clock, like `read_at`. */
  due_at: Schema.Int,
  failing_since: Schema.NullOr(Schema.Int),
  crashes: Schema.Int,
  /** Why `due_at` is in the future, if the reason is neither a failure nor a crash. */
  waits_for: Schema.NullOr(Schema.Literals(["budget", "timer"])),
  concurrency_key: Schema.NullOr(Schema.String),
  concurrency_limit: Schema.NullOr(Schema.Int),
  held_back: Schema.Int,
})
const ShownRow = Schema.Struct({
  ...ShownColumns.fields,
  read_at: Schema.Int,
  /** Running jobs of the tenant, if this job is queued. */
  tenant_running: Schema.Int,
})
export type ShownRow = typeof ShownRow.Type
export const decodeShown = decodeRows("jobs", ShownRow)
export const shownColumns = (sql: SqlClient.SqlClient): Statement.Fragment =>
  sql`${sql.literal(columnsOf(ShownColumns.fields))}, ${databaseTime(sql)} AS read_at,
    CASE WHEN jobs.status = 'queued' THEN (SELECT COUNT(*) FROM jobs AS other
      WHERE other.tenant = jobs.tenant AND other.status = 'running' AND other.held_back = 0 AND other.finished_at IS NULL) ELSE 0 END
      AS tenant_running`
/** SQL: approximate size of a job in bytes, counting its steps and the columns that can be large. */
export const SHOWN_BYTES = [
  "step_bytes",
  "octet_length(options)",
  "octet_length(task)",
  "octet_length(metadata)",
  "COALESCE(octet_length(result), 0)",
  "COALESCE(octet_length(problem), 0)",
  "COALESCE(octet_length(question), 0)",
].join(" + ")

/** The part of a job that its worker needs. */
const WorkRow = Schema.Struct({
  id: JobId,
  tenant: TenantId,
  /** The agent as it was when the job was enqueued, as JSON. */
  agent: Schema.String,
  thread: Schema.NullOr(ThreadId),
  mode: Mode,
  attempt: Schema.Int,
  task: storedJson(JobTask),
  options: storedJson(JobOptions),
  metadata: storedJson(Metadata),
  key_id: Schema.NullOr(Schema.String),
  key_budgets: Schema.NullOr(storedJson(BudgetList)),
  webhook: Schema.NullOr(Schema.String),
  key_models: Schema.NullOr(storedJson(TargetFilter)),
  traceparent: Schema.String,
  /** In milliseconds since the epoch. */
  created_at: Schema.Int,
  last_event: Schema.Int,
  /** Milliseconds that workers have spent on the job, as of the last write. */
  ran_ms: Schema.Int,
  /** Retries after a fault of this product. */
  faults: Schema.Int,
})
export type WorkRow = typeof WorkRow.Type
export const decodeWork = decodeRows("jobs", WorkRow)
export const WORK_COLUMNS = columnsOf(WorkRow.fields)

/** Initial values of a job's other columns. */
const UNBEGUN = {
  status: "queued",
  attempt: 1,
  last_event: 0,
  result: null,
  problem: null,
  question: null,
  started_at: null,
  finished_at: null,
  failing_since: null,
  crashes: 0,
  waits_for: null,
  tenant_running: 0,
} as const

/** The parts of a job that are known when it is enqueued. */
export interface NewJob extends Omit<ShownRow, keyof typeof UNBEGUN | "due_at" | "read_at"> {
  readonly agent: string
  /** `null` if other options override it. */
  readonly effort: Effort | null
  readonly key: KeyLimits | undefined
  /** Where notices of its events are sent. */
  readonly webhook: string | undefined
}

/** The columns of a new job that depend on its request. */
export const NEW_JOB_COLUMNS: Columns<NewJob> = {
  id: ["TEXT", (job) => job.id],
  tenant: ["TEXT", (job) => job.tenant],
  agent_id: ["TEXT", (job) => job.agent_id],
  agent: ["TEXT", (job) => job.agent],
  agent_version: ["BIGINT", (job) => job.agent_version],
  thread: ["TEXT", (job) => job.thread],
  mode: ["TEXT", (job) => job.mode],
  effort: ["TEXT", (job) => job.effort],
  priority: ["BIGINT", (job) => placeOf(job.priority)],
  task: ["TEXT", (job) => JSON.stringify(job.task)],
  options: ["TEXT", (job) => JSON.stringify(job.options)],
  metadata: ["TEXT", (job) => JSON.stringify(job.metadata)],
  at_most: ["TEXT", (job) => (job.at_most === null ? null : JSON.stringify(job.at_most))],
  traceparent: ["TEXT", (job) => job.traceparent],
  key_id: ["TEXT", (job) => job.key?.id ?? null],
  key_models: ["TEXT", (job) => (job.key?.models === undefined ? null : JSON.stringify(job.key.models))],
  key_budgets: ["TEXT", (job) => (job.key?.budgets === undefined ? null : JSON.stringify(job.key.budgets))],
  webhook: ["TEXT", (job) => job.webhook ?? null],
  concurrency_key: ["TEXT", (job) => job.concurrency_key],
  concurrency_limit: ["BIGINT", (job) => job.concurrency_limit],
  key_limit: ["BIGINT", (job) => job.key?.maxRunningJobs ?? null],
  held_back: ["BIGINT", (job) => job.held_back],
  created_at: ["BIGINT", (job) => job.created_at.epochMilliseconds],
  expires_at: ["BIGINT", (job) => job.expires_at.epochMilliseconds],
}

/** The public form of a new job, which may begin at once. */
export const toNewJob = (job: NewJob): Job => {
  const now = job.created_at.epochMilliseconds
  return toJob(
    { ...job, ...UNBEGUN, due_at: now, read_at: now },
    { steps: [], spent: NOTHING_SPENT, tenantLimit: Infinity },
  )
}

/** One row of `job_steps`, without its outcome. */
const StepRow = Schema.Struct({
  job_id: JobId,
  event: Schema.Int,
  name: Schema.String,
  step: storedJson(Step),
  status: Schema.Literals(["completed", "failed"]),
  call: Schema.NullOr(storedJson(StepCall)),
  tool: Schema.NullOr(storedJson(ToolUse)),
  problem: Schema.NullOr(storedJson(Problem)),
  started_at: Time,
  finished_at: Time,
})
export type StepRow = typeof StepRow.Type
export const decodeSteps = decodeRows("job_steps", StepRow)
export const STEP_COLUMNS = Object.keys(StepRow.fields)

const Receipt = Schema.fromJsonString(KeptReceipt)
export const decodeReceipts = decodeRows("job_steps", Schema.Struct({ name: Schema.String, receipt: Receipt }))

/** The part of a stored answer that followers get, if it says when its text began. */
const StepText = Schema.Struct({
  text: Schema.String,
  since: Schema.optionalKey(Schema.Int),
})
export const decodeTexts = decodeRows("job_steps", Schema.Struct({ outcome: storedJson(StepText) }))

/** Bytes of a step without its texts: names, times and usage, as JSON. */
const STEP_BYTES = 512

/** Approximate size of a step in bytes, for `step_bytes`; given the texts of its columns that readers get. */
export const stepBytes = (...shown: ReadonlyArray<string | null>): number =>
  shown.reduce((bytes, text) => bytes + Buffer.byteLength(text ?? ""), STEP_BYTES)

export const toStep = ({ call, finished_at, name, problem, started_at, status, step, tool }: StepRow): JobStep => ({
  name,
  ...step,
  status,
  ...(problem === null ? {} : { problem }),
  ...(tool === null ? {} : { tool }),
  provider: call?.provider ?? null,
  model: call?.model ?? null,
  usage: call?.usage ?? null,
  cost_micro_usd: call?.cost_micro_usd ?? null,
  started_at,
  finished_at,
})

/** Why a queued job does not run. */
const waitingOf = (row: ShownRow, tenantLimit: number): JobWaiting => {
  if (row.held_back === HELD_BY.concurrencyKey) return { reason: "concurrency" }
  if (row.held_back === HELD_BY.callerKey) return { reason: "key-limit" }
  if (row.due_at > row.read_at) {
    const until = DateTime.makeUnsafe(row.due_at)
    return { reason: row.failing_since === null && row.crashes === 0 ? (row.waits_for ?? "retry") : "retry", until }
  }
  return { reason: row.tenant_running >= tenantLimit ? "tenant-limit" : "worker" }
}

interface Around {
  readonly steps: ReadonlyArray<StepRow>
  readonly spent: Spent
  /** The most jobs of a tenant that a gateway works on. */
  readonly tenantLimit: number
}

export const toJob = (row: ShownRow, { spent, steps, tenantLimit }: Around): Job => {
  const { traceId } = storedSpan(row.traceparent)
  return {
    id: row.id,
    agent_id: row.agent_id,
    agent_version: row.agent_version,
    ...(row.thread === null ? {} : { thread_id: row.thread }),
    mode: row.mode,
    status: row.status,
    priority: row.priority,
    ...(row.concurrency_key === null || row.concurrency_limit === null
      ? {}
      : { concurrency: { key: shownKey(row.concurrency_key), limit: row.concurrency_limit } }),
    attempt: row.attempt,
    task: row.task,
    options: row.options,
    ...(row.result === null ? {} : { result: row.result }),
    ...(row.problem === null ? {} : { problem: { ...row.problem, trace_id: traceId } }),
    ...(row.status === "queued" ? { waiting: waitingOf(row, tenantLimit) } : {}),
    ...(row.question === null ? {} : { question: shownQuestion(row.question) }),
    usage: {
      input_tokens: spent.input_tokens,
      output_tokens: spent.output_tokens,
      cached_tokens: spent.cached_tokens,
      calls: spent.calls,
    },
    cost_micro_usd: spent.unpriced === 0 ? spent.cost : null,
    ...(row.at_most === null ? {} : { at_most: row.at_most }),
    steps: steps.map(toStep),
    created_at: row.created_at,
    ...(row.started_at === null ? {} : { started_at: row.started_at }),
    ...(row.finished_at === null ? {} : { finished_at: row.finished_at }),
    expires_at: row.expires_at,
    trace_id: traceId,
    metadata: row.metadata,
  }
}
