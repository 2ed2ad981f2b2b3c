/** Jobs and steps as the database holds them, and as their owners see them. */
import { Schema } from "effect"
import { Agent, AgentId, Metadata, Mode, TenantId } from "../../domain/agent.ts"
import {
  type Job,
  JobId,
  JobOptions,
  JobStatus,
  type JobStep,
  JobTask,
  type JobUsage,
  StepCall,
} from "../../domain/job.ts"
import { Problem } from "../../domain/problem.ts"
import { JobResult } from "../../domain/verdict.ts"
import { decodeRows, encodeRow } from "../storage.ts"

const Time = Schema.DateTimeUtcFromMillis

/** One row of `jobs`. `agent` is the agent as it was when the job was enqueued. */
const JobRow = Schema.Struct({
  id: JobId,
  tenant: TenantId,
  agent_id: AgentId,
  agent: Schema.fromJsonString(Agent),
  mode: Mode,
  status: JobStatus,
  attempt: Schema.Int,
  /** Which element of the queue stands for it: every time it is put back, the next one. */
  turn: Schema.Int,
  /** Workers that died in a row without the job finishing a step. */
  crashes: Schema.Int,
  /** Who may write to a running job: the token of the worker that started it last. */
  lease: Schema.NullOr(Schema.String),
  /** What workers have spent on it so far, as of the last write. */
  ran_ms: Schema.Int,
  /** Id of its latest step. */
  last_event: Schema.Int,
  task: Schema.fromJsonString(JobTask),
  options: Schema.fromJsonString(JobOptions),
  metadata: Schema.fromJsonString(Metadata),
  result: Schema.NullOr(Schema.fromJsonString(JobResult)),
  problem: Schema.NullOr(Schema.fromJsonString(Problem)),
  /** W3C trace context of the request that enqueued it. */
  traceparent: Schema.String,
  created_at: Time,
  started_at: Schema.NullOr(Time),
  finished_at: Schema.NullOr(Time),
  expires_at: Time,
})
export type JobRow = typeof JobRow.Type
export const decodeJobs = decodeRows("jobs", JobRow)
export const encodeJob = encodeRow("jobs", JobRow)

/** One row of `job_steps`, without its outcome. */
const StepRow = Schema.Struct({
  job_id: JobId,
  event: Schema.Int,
  name: Schema.String,
  status: Schema.Literals(["completed", "failed"]),
  call: Schema.NullOr(Schema.fromJsonString(StepCall)),
  started_at: Time,
  finished_at: Time,
})
export type StepRow = typeof StepRow.Type
export const decodeSteps = decodeRows("job_steps", StepRow)
export const STEP_COLUMNS = ["job_id", "event", "name", "status", "call", "started_at", "finished_at"]

export const encodeProblem = encodeRow("jobs", Schema.fromJsonString(Problem))
export const encodeResult = encodeRow("jobs", Schema.fromJsonString(JobResult))
export const encodeCall = encodeRow("job_steps", Schema.NullOr(Schema.fromJsonString(StepCall)))

/** The span that a `traceparent` names, and whether its trace is kept (W3C Trace Context). */
export const traceOf = (
  traceparent: string,
): { readonly traceId: string; readonly spanId: string; readonly sampled: boolean } => {
  const [, traceId = "", spanId = "", flags = ""] = traceparent.split("-")
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

export const toStep = ({ call, finished_at, name, started_at, status }: StepRow): JobStep => ({
  name,
  status,
  provider: call?.provider ?? null,
  model: call?.model ?? null,
  usage: call?.usage ?? null,
  cost_micro_usd: call?.cost_micro_usd ?? null,
  started_at,
  finished_at,
})

export const toJob = (row: JobRow, steps: ReadonlyArray<StepRow>): Job => ({
  id: row.id,
  agent_id: row.agent_id,
  agent_version: row.agent.version,
  mode: row.mode,
  status: row.status,
  attempt: row.attempt,
  task: row.task,
  options: row.options,
  ...(row.result === null ? {} : { result: row.result }),
  ...(row.problem === null ? {} : { problem: row.problem }),
  ...totals(steps),
  steps: steps.map(toStep),
  created_at: row.created_at,
  ...(row.started_at === null ? {} : { started_at: row.started_at }),
  ...(row.finished_at === null ? {} : { finished_at: row.finished_at }),
  expires_at: row.expires_at,
  trace_id: traceOf(row.traceparent).traceId,
  metadata: row.metadata,
})

/** What all steps together used. One call of unknown cost makes the cost unknown. */
const totals = (
  steps: ReadonlyArray<StepRow>,
): { readonly usage: JobUsage; readonly cost_micro_usd: number | null } => {
  const usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, calls: 0 }
  let cost: number | null = 0
  for (const { call } of steps) {
    if (call === null) continue
    usage.input_tokens += call.usage?.input_tokens ?? 0
    usage.output_tokens += call.usage?.output_tokens ?? 0
    usage.cached_tokens += call.usage?.cached_tokens ?? 0
    usage.calls += call.calls
    cost = cost === null || call.cost_micro_usd === null ? null : cost + call.cost_micro_usd
  }
  return { usage, cost_micro_usd: cost }
}
