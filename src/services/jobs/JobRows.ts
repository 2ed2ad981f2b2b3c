/** Jobs and steps as the database holds them, and as their owners see them. */
import { Schema } from "effect"
import { Agent, AgentId, Metadata, TenantId } from "../../domain/agent.ts"
import { AtMost, type Job, JobId, JobStatus, type JobStep, JobTask, StepCall } from "../../domain/job.ts"
import { KeptReceipt } from "../../domain/keptReceipt.ts"
import { JobOptions, JobResult, Mode } from "../../domain/modes.ts"
import { Problem } from "../../domain/problem.ts"
import { storedSpan } from "../../domain/traceContext.ts"
import { Step } from "../../domain/step.ts"
import type { Spent } from "../routing/Ledger.ts"
import { decodeRows, encodeRow } from "../storedRows.ts"

const Time = Schema.DateTimeUtcFromMillis

/** How far a job is: what those who wait for it look at again and again. */
const JobState = Schema.Struct({
  id: JobId,
  mode: Mode,
  status: JobStatus,
  /** No step has a higher id. */
  last_event: Schema.Int,
  created_at: Time,
})
export const decodeStates = decodeRows("jobs", JobState)
export const STATE_COLUMNS = Object.keys(JobState.fields)

/** What owners see of a job, but for its steps and what it used. */
const ShownRow = Schema.Struct({
  ...JobState.fields,
  agent_id: AgentId,
  agent: Schema.fromJsonString(Schema.Struct({ version: Schema.Int })),
  attempt: Schema.Int,
  task: Schema.fromJsonString(JobTask),
  options: Schema.fromJsonString(JobOptions),
  metadata: Schema.fromJsonString(Metadata),
  result: Schema.NullOr(Schema.fromJsonString(JobResult)),
  problem: Schema.NullOr(Schema.fromJsonString(Problem)),
  /** `null` in rows of before it was worked out. */
  at_most: Schema.NullOr(Schema.fromJsonString(AtMost)),
  /** Trace context of the request that enqueued it, as `storeTrace` writes it. */
  traceparent: Schema.String,
  started_at: Schema.NullOr(Time),
  finished_at: Schema.NullOr(Time),
  expires_at: Time,
})
type ShownRow = typeof ShownRow.Type
export const decodeShown = decodeRows("jobs", ShownRow)
/** SQL. The agent itself may be large; it is read only where its version does not stand beside it. */
export const SHOWN_COLUMNS = [
  ...Object.keys(ShownRow.fields).filter((name) => name !== "agent"),
  `COALESCE('{"version":' || agent_version || '}', agent) AS agent`,
].join(", ")
/** SQL: about how many bytes of these columns can be many. */
export const SHOWN_BYTES = [
  "octet_length(task)",
  "octet_length(metadata)",
  "COALESCE(octet_length(result), 0)",
  "COALESCE(octet_length(problem), 0)",
  "CASE WHEN agent_version IS NULL THEN octet_length(agent) ELSE 0 END",
].join(" + ")

/** One row of `jobs`. `agent` is the agent as it was when the job was enqueued. */
const JobRow = Schema.Struct({
  ...ShownRow.fields,
  tenant: TenantId,
  agent: Schema.fromJsonString(Agent),
  agent_version: Schema.NullOr(Schema.Int),
  /** Which element of the queue stands for it: every time it is put back, the next one. */
  turn: Schema.Int,
  /** Workers that died in a row without the job finishing a step. */
  crashes: Schema.Int,
  /** Who may write to a running job: the token of the worker that started it last. */
  lease: Schema.NullOr(Schema.String),
  /** What workers have spent on it so far, as of the last write. */
  ran_ms: Schema.Int,
  /** When it first failed since a step finished. */
  failing_since: Schema.NullOr(Time),
  /** How often it was tried again after a fault of this product. */
  faults: Schema.Int,
})
export type JobRow = typeof JobRow.Type
export const decodeJobs = decodeRows("jobs", JobRow)
export const encodeJob = encodeRow("jobs", JobRow)

/** One row of `job_steps`, without its outcome. */
const StepRow = Schema.Struct({
  job_id: JobId,
  event: Schema.Int,
  name: Schema.String,
  /** `null` in rows of before it was kept. */
  step: Schema.NullOr(Schema.fromJsonString(Step)),
  status: Schema.Literals(["completed", "failed"]),
  call: Schema.NullOr(Schema.fromJsonString(StepCall)),
  started_at: Time,
  finished_at: Time,
})
export type StepRow = typeof StepRow.Type
export const decodeSteps = decodeRows("job_steps", StepRow)
export const STEP_COLUMNS = ["job_id", "event", "name", "step", "status", "call", "started_at", "finished_at"]

export const encodeProblem = encodeRow("jobs", Schema.fromJsonString(Problem))
export const encodeResult = encodeRow("jobs", Schema.fromJsonString(JobResult))
export const encodeStep = encodeRow("job_steps", Schema.fromJsonString(Step))
export const encodeCall = encodeRow("job_steps", Schema.NullOr(Schema.fromJsonString(StepCall)))

const Receipt = Schema.fromJsonString(KeptReceipt)
export const encodeReceipt = encodeRow("job_steps", Receipt)
export const decodeReceipts = decodeRows("job_steps", Schema.Struct({ name: Schema.String, receipt: Receipt }))

export const toStep = ({ call, finished_at, name, started_at, status, step }: StepRow): JobStep => ({
  name,
  ...(step ?? { kind: name }),
  status,
  provider: call?.provider ?? null,
  model: call?.model ?? null,
  usage: call?.usage ?? null,
  cost_micro_usd: call?.cost_micro_usd ?? null,
  started_at,
  finished_at,
})

export const toJob = (row: ShownRow, steps: ReadonlyArray<StepRow>, spent: Spent): Job => ({
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
  trace_id: storedSpan(row.traceparent).traceId,
  metadata: row.metadata,
})
