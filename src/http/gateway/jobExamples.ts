/** One exchange with every operation on agents, jobs, threads and schedules, and the values that other examples share. */
import type { Agent, CreateAgent, UpdateAgent } from "../../domain/jobs/agent.ts"
import type { ExecuteRequest, Job, JobReceipt, JobStep } from "../../domain/jobs/job.ts"
import type { NewSchedule, Schedule } from "../../domain/jobs/schedule.ts"
import type { JobSummary } from "../../domain/jobs/summary.ts"
import type { NewThread, Thread } from "../../domain/jobs/thread.ts"
import type { Examples } from "../shared/description/showExample.ts"

export const KEY_ID = "01a2018b-0c11-7e55-8a3f-2b1f6f0cbd1a"
export const AGENT_ID = "01a20189-2d78-7781-9ee0-356bac85203e"
export const JOB_ID = "01a2018a-91c4-7a02-8d55-6f6f0cbd1a7e"
export const CURSOR = "MDFhMjAxODktMmQ3OC03NzgxLTllZTAtMzU2YmFjODUyMDNl"
export const TIME = "2026-11-20T09:30:00.000Z"
export const LATER = "2026-11-20T09:30:04.200Z"

export const agent = {
  id: AGENT_ID,
  name: "Reviewer",
  instructions: "Answer briefly, and say what you are not sure of.",
  default_mode: "verified",
  model_policy: { deny: ["*preview*"] },
  limits: { max_cost_micro_usd: 50_000, max_rounds: 2, timeout_seconds: 600 },
  metadata: { team: "docs" },
  version: 1,
  created_at: TIME,
  updated_at: TIME,
} satisfies typeof Agent.Encoded

const thread = {
  id: "01a20189-9c1e-7e54-a3f0-0d6a1b1f6a11",
  agent_id: AGENT_ID,
  created_at: TIME,
} satisfies typeof Thread.Encoded

const schedule = {
  id: "01a20189-b5c3-7d10-9a41-3f7d2c9f5e08",
  agent_id: AGENT_ID,
  key_id: KEY_ID,
  cron: "0 7 * * 1-5",
  request: { task: "Summarize the issues that were opened since yesterday." },
  next_at: "2026-11-23T07:00:00.000Z",
  created_at: TIME,
} satisfies typeof Schedule.Encoded

export const usage = { input_tokens: 212, output_tokens: 9, cached_tokens: 0 }

const step = {
  name: "draft",
  kind: "draft",
  status: "completed",
  provider: "provider1",
  model: "gpt-5-mini",
  usage,
  cost_micro_usd: 71,
  started_at: TIME,
  finished_at: LATER,
} satisfies typeof JobStep.Encoded

const queued = {
  id: JOB_ID,
  agent_id: AGENT_ID,
  agent_version: 1,
  mode: "verified",
  status: "queued",
  priority: "normal",
  attempt: 1,
  task: "Which port does HTTPS use by default?",
  options: { effort: "low" },
  usage: { input_tokens: 0, output_tokens: 0, cached_tokens: 0, calls: 0 },
  cost_micro_usd: 0,
  at_most: { calls: 9, cost_micro_usd: 41_000 },
  steps: [],
  created_at: TIME,
  expires_at: "2026-12-20T09:30:00.000Z",
  trace_id: "4bf92f3577b34da6a3ce929d0e0e4736",
  metadata: {},
} satisfies typeof Job.Encoded

const completed = {
  ...queued,
  status: "completed",
  result: {
    mode: "verified",
    answer: "443",
    verdict: "verified",
    confidence: 0.97,
    independent: true,
    agreement: 1,
    answers: [
      {
        answer: "443",
        probability: 0.97,
        said_by: [
          { role: "proposer", provider: "provider1", model: "gpt-5-mini" },
          { role: "proposer", provider: "provider2", model: "claude-haiku-4-5" },
        ],
      },
    ],
    checks: [],
  },
  usage: { ...usage, calls: 1 },
  cost_micro_usd: 71,
  steps: [step],
  started_at: TIME,
  finished_at: LATER,
} satisfies typeof Job.Encoded

const summary = {
  from: "2026-11-19T09:30:00.000Z",
  running: 2,
  queued: 1,
  retrying: 1,
  completed: 40,
  failed: 1,
  cancelled: 0,
  timed_out: 0,
  input_required: 0,
  typical_costs: [{ mode: "verified", effort: "medium", cost_micro_usd: 312, jobs: 40 }],
} satisfies typeof JobSummary.Encoded

const receipt = {
  step: "draft",
  receipt: "eyJhbGciOiJFZERTQSJ9.eyJzdGF0dXMiOiJjb21wbGV0ZSJ9.c2lnbmF0dXJl",
  proof: "eyJhbGciOiJFZERTQSJ9.eyJmcmFtZXMiOjJ9.c2lnbmF0dXJl",
  keys: [{ kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" }],
} satisfies typeof JobReceipt.Encoded

const agentId = { id: AGENT_ID }
export const jobId = { id: JOB_ID }

export const JOB_EXAMPLES: Readonly<Record<string, Examples>> = {
  "agents.create": {
    body: {
      name: "Reviewer",
      instructions: "Answer briefly, and say what you are not sure of.",
      default_mode: "verified",
    } satisfies typeof CreateAgent.Encoded,
    answer: agent,
  },
  "agents.list": { parameters: { limit: 20 }, answer: { items: [agent], next_cursor: CURSOR } },
  "agents.get": { parameters: agentId, answer: agent },
  "agents.update": {
    parameters: { ...agentId, "if-match": '"1"' },
    body: { limits: { max_cost_micro_usd: 80_000 } } satisfies typeof UpdateAgent.Encoded,
    answer: { ...agent, limits: { ...agent.limits, max_cost_micro_usd: 80_000 }, version: 2, updated_at: LATER },
  },
  "agents.remove": { parameters: { ...agentId, "if-match": '"2"' } },
  "agents.execute": {
    parameters: { ...agentId, "idempotency-key": "review-2026-11-20" },
    body: { task: queued.task, options: queued.options } satisfies typeof ExecuteRequest.Encoded,
    answer: queued,
  },
  "jobs.list": { parameters: { status: "completed" }, answer: { items: [completed], next_cursor: CURSOR } },
  "jobs.summary": { answer: summary },
  "jobs.get": { parameters: { ...jobId, wait: 30 }, answer: completed },
  "jobs.events": { parameters: jobId, stream: { id: "1", event: "step", data: JSON.stringify(step) } },
  "jobs.receipts": { parameters: jobId, answer: { items: [receipt] } },
  "jobs.cancel": { parameters: jobId, answer: { ...queued, status: "cancelled", finished_at: LATER } },
  "jobs.input": {
    parameters: jobId,
    body: { answer: { approved: true }, step: "tool-1-1" },
    answer: { ...queued, mode: "direct" },
  },
  "jobs.resume": { parameters: jobId, answer: { ...queued, attempt: 2 } },
  "jobs.remove": { parameters: jobId },
  "threads.create": { body: { agent_id: AGENT_ID } satisfies typeof NewThread.Encoded, answer: thread },
  "threads.list": { answer: { items: [thread] } },
  "threads.get": { parameters: { id: thread.id }, answer: thread },
  "threads.remove": { parameters: { id: thread.id } },
  "schedules.create": {
    body: { agent_id: AGENT_ID, cron: schedule.cron, request: schedule.request } satisfies typeof NewSchedule.Encoded,
    answer: schedule,
  },
  "schedules.list": { parameters: { limit: 20 }, answer: { items: [schedule], next_cursor: CURSOR } },
  "schedules.get": { parameters: { id: schedule.id }, answer: schedule },
  "schedules.remove": { parameters: { id: schedule.id } },
}
