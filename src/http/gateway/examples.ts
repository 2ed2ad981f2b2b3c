/** One exchange with every operation of the gateway, for its OpenAPI document. */
import type { SecretInfo } from "../../domain/access/secrets.ts"
import type { AuditEntry } from "../../domain/access/audit.ts"
import type { BudgetReport } from "../../domain/access/budgets.ts"
import type { CreateKey, GatewayKey, UpdateKey } from "../../domain/access/keys.ts"
import type { Agent, CreateAgent, UpdateAgent } from "../../domain/jobs/agent.ts"
import type { ExecuteRequest, Job, JobReceipt, JobStep } from "../../domain/jobs/job.ts"
import type { NewSchedule, Schedule } from "../../domain/jobs/schedule.ts"
import type { NewThread, Thread } from "../../domain/jobs/thread.ts"
import type { JobSummary } from "../../domain/jobs/summary.ts"
import type { LedgerEntry } from "../../domain/routing/ledger.ts"
import { CSV_HEADER } from "../../domain/routing/ledgerCsv.ts"
import type { ProviderHealth } from "../../domain/routing/health.ts"
import type { PricedRoutingSettings, RoutingSettingsInput } from "../../domain/routing/routing.ts"
import { METHOD, type RoutingStatsReport } from "../../domain/routing/savings.ts"
import type { SpendReport } from "../../domain/routing/spend.ts"
import type { Examples } from "../shared/description/showExample.ts"
import { CALL_EXAMPLES } from "./calls/examples.ts"
import { SYSTEM_EXAMPLES } from "../shared/description/systemExamples.ts"

const AGENT_ID = "01a20189-2d78-7781-9ee0-356bac85203e"
const JOB_ID = "01a2018a-91c4-7a02-8d55-6f6f0cbd1a7e"
const CURSOR = "MDFhMjAxODktMmQ3OC03NzgxLTllZTAtMzU2YmFjODUyMDNl"
const TIME = "2026-11-20T09:30:00.000Z"
const LATER = "2026-11-20T09:30:04.200Z"

const agent = {
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
  cron: "0 7 * * 1-5",
  request: { task: "Summarize the issues that were opened since yesterday." },
  next_at: "2026-11-23T07:00:00.000Z",
  created_at: TIME,
} satisfies typeof Schedule.Encoded

const usage = { input_tokens: 212, output_tokens: 9, cached_tokens: 0 }

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

const routing = {
  version: 1,
  strategy: "cost",
  baseline: { provider: "provider1", model: "gpt-5" },
  targets: [
    { provider: "provider1", model: "gpt-5-mini", max_context_tokens: 400_000 },
    { provider: "provider1", model: "gpt-5", max_context_tokens: 400_000, quality: 0.9 },
  ],
  retry: { max_retries: 2, base_delay_ms: 500, max_delay_ms: 8000 },
  breaker: { failure_threshold: 5, open_ms: 30_000 },
  timeouts: { first_token_ms: 30_000, idle_ms: 30_000, total_ms: 300_000 },
} satisfies typeof RoutingSettingsInput.Encoded

const pricedRouting = {
  ...routing,
  effective_prices: [
    {
      provider: "provider1",
      model: "gpt-5",
      prices: { input: 1_250_000, output: 10_000_000, cached_input: 125_000 },
      as_of: "2026-11-01",
      source: "the provider's price list",
    },
  ],
} satisfies typeof PricedRoutingSettings.Encoded

const health = {
  provider: "provider1",
  model: "gpt-5-mini",
  circuit: "open",
  fault: null,
  last_failure: { at: TIME, model: "gpt-5-mini", outcome: "timeout" },
} satisfies typeof ProviderHealth.Encoded

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

const sums = {
  requests: 40,
  calls: 42,
  failed_calls: 2,
  input_tokens: 8480,
  output_tokens: 360,
  cached_tokens: 0,
  actual_micro_usd: 2840,
  compared_micro_usd: 2840,
  baseline_micro_usd: 14_200,
  saved_micro_usd: 11_360,
  saved_percent: 80,
  unpriced_calls: 0,
  latency_p50_ms: 2400,
  latency_p95_ms: 8100,
}

const stats = {
  from: "2026-11-19T09:30:00.000Z",
  to: TIME,
  ...sums,
  by_provider_model: [{ provider: "provider1", model: "gpt-5-mini", ...sums }],
  by_mode: [{ mode: "verified", ...sums }],
  by_strategy: [{ strategy: "cost", ...sums }],
  price_table: { version: "1", as_of: "2026-11-01" },
  method: METHOD,
} satisfies typeof RoutingStatsReport.Encoded

const spent = {
  calls: 120,
  failed_calls: 1,
  unpriced_calls: 0,
  input_tokens: 25_440,
  output_tokens: 1080,
  cached_tokens: 0,
  cost_micro_usd: 8520,
}

const spend = {
  from: "2026-11-19T09:00:00.000Z",
  to: "2026-11-20T10:00:00.000Z",
  by: "key",
  total: spent,
  items: [{ value: "01a2018b-0c11-7e55-8a3f-2b1f6f0cbd1a", name: "ci", ...spent }],
  rest: {
    calls: 0,
    failed_calls: 0,
    unpriced_calls: 0,
    input_tokens: 0,
    output_tokens: 0,
    cached_tokens: 0,
    cost_micro_usd: 0,
  },
} satisfies typeof SpendReport.Encoded

const ledgerEntry = {
  id: `${JOB_ID}-0`,
  at: TIME,
  request_id: JOB_ID,
  tenant: "acme",
  key_id: null,
  agent_id: AGENT_ID,
  job_id: JOB_ID,
  mode: "verified",
  role: "proposer",
  strategy: "cost",
  provider: "provider1",
  model: "gpt-5-mini",
  served_model: "gpt-5-mini",
  ...usage,
  cost_micro_usd: 71,
  baseline_micro_usd: 355,
  price_version: "1",
  latency_ms: 4200,
  estimated: false,
  own_key: false,
  labels: { project: "docs" },
  outcome: "success",
} satisfies typeof LedgerEntry.Encoded

const receipt = {
  step: "draft",
  receipt: "eyJhbGciOiJFZERTQSJ9.eyJzdGF0dXMiOiJjb21wbGV0ZSJ9.c2lnbmF0dXJl",
  proof: "eyJhbGciOiJFZERTQSJ9.eyJmcmFtZXMiOjJ9.c2lnbmF0dXJl",
  keys: [{ kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" }],
} satisfies typeof JobReceipt.Encoded

const newKey = {
  name: "ci",
  roles: ["run"],
  models: { allow: ["*mini*"] },
  requests_per_minute: 60,
  budgets: [{ per: "day", max_cost_micro_usd: 5_000_000 }],
} satisfies typeof CreateKey.Encoded

const key = {
  id: "01a2018b-0c11-7e55-8a3f-2b1f6f0cbd1a",
  ...newKey,
  created_at: TIME,
  created_by: "alice",
} satisfies typeof GatewayKey.Encoded

const secret = {
  name: "github",
  origin: "https://api.githubcopilot.com",
  updated_at: TIME,
} satisfies typeof SecretInfo.Encoded

const auditEntry = {
  id: "01a2018b-0c12-7e55-8a3f-2b1f6f0cbd1a",
  at: TIME,
  tenant: "acme",
  subject: "alice",
  key_id: null,
  action: "key.create",
  target: key.id,
} satisfies typeof AuditEntry.Encoded

const budgetReport = {
  items: [
    {
      owner: { kind: "tenant", id: "acme" },
      per: "month",
      max_cost_micro_usd: 100_000_000,
      spent_micro_usd: 2840,
      spent_tokens: 8840,
      reserved_micro_usd: 71,
      reserved_tokens: 221,
      left_micro_usd: 99_997_089,
      left_tokens: null,
      renews_at: "2026-12-01T00:00:00.000Z",
    },
  ],
} satisfies typeof BudgetReport.Encoded

const keyId = { id: key.id }
const agentId = { id: AGENT_ID }
const jobId = { id: JOB_ID }

export const GATEWAY_EXAMPLES: Readonly<Record<string, Examples>> = {
  ...SYSTEM_EXAMPLES,
  ...CALL_EXAMPLES,
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
  "changes.follow": { stream: { event: "changed", data: "{}" } },
  "jobs.receipts": { parameters: jobId, answer: { items: [receipt] } },
  "jobs.cancel": { parameters: jobId, answer: { ...queued, status: "cancelled", finished_at: LATER } },
  "webhooks.deliveries": {
    parameters: jobId,
    answer: {
      items: [
        {
          id: `${JOB_ID}_4`,
          event: "job.ended",
          url: "https://example.com/hook",
          status: "delivered",
          attempts: 1,
          created_at: LATER,
        },
      ],
    },
  },
  "webhooks.replaceSecret": { answer: { secret: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDazfGihi4ZQg=" } },
  "mcp.call": {
    body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "get_job", arguments: { job_id: JOB_ID } } },
    answer: { jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text: "{}" }] } },
  },
  "a2a.card": {
    parameters: { id: agent.name },
    answer: { name: agent.name, description: "The agent Reviewer.", version: "1" },
  },
  "a2a.call": {
    parameters: { id: agent.name, "a2a-version": "1.0" },
    body: { jsonrpc: "2.0", id: 1, method: "GetTask", params: { id: JOB_ID } },
    answer: {
      jsonrpc: "2.0",
      id: 1,
      result: { id: JOB_ID, contextId: JOB_ID, status: { state: "TASK_STATE_WORKING" } },
    },
  },
  "jobs.input": {
    parameters: jobId,
    body: { answer: { approved: true }, step: "tool-1-1" },
    answer: { ...queued, mode: "direct" },
  },
  "jobs.resume": { parameters: jobId, answer: { ...queued, attempt: 2 } },
  "jobs.remove": { parameters: jobId },
  "routing.stats": { parameters: { interval: "hour" }, answer: stats },
  "routing.spend": { parameters: { by: "key" }, answer: spend },
  "routing.providers": { answer: { items: [health] } },
  "routing.config": { answer: pricedRouting },
  "routing.putConfig": {
    parameters: { "if-match": '"1"' },
    body: routing,
    answer: { ...pricedRouting, version: 2 },
  },
  "ledger.list": {
    parameters: { from: "2026-11-01T00:00:00Z", limit: 1000 },
    answer: { items: [ledgerEntry], next_cursor: CURSOR },
    csv: CSV_HEADER,
  },
  "keys.create": {
    body: newKey,
    answer: { ...key, key: "sgk_example-of-a-key-that-no-gateway-has-0000000000000000" },
  },
  "keys.list": { parameters: { limit: 20 }, answer: { items: [{ ...key, last_used_at: LATER }] } },
  "keys.get": { parameters: keyId, answer: key },
  "keys.update": {
    parameters: keyId,
    body: { requests_per_minute: null } satisfies typeof UpdateKey.Encoded,
    answer: { ...key, requests_per_minute: undefined },
  },
  "keys.revoke": { parameters: keyId },
  "budgets.get": { parameters: { key: key.id }, answer: budgetReport },
  "budgets.put": {
    body: { budgets: [{ per: "month", max_cost_micro_usd: 100_000_000 }] },
    answer: budgetReport,
  },
  "threads.create": { body: { agent_id: AGENT_ID } satisfies typeof NewThread.Encoded, answer: thread },
  "threads.list": { answer: { items: [thread] } },
  "threads.get": { parameters: { id: thread.id }, answer: thread },
  "threads.remove": { parameters: { id: thread.id } },
  "schedules.create": {
    body: { agent_id: AGENT_ID, cron: schedule.cron, request: schedule.request } satisfies typeof NewSchedule.Encoded,
    answer: schedule,
  },
  "schedules.list": { answer: { items: [schedule] } },
  "schedules.get": { parameters: { id: schedule.id }, answer: schedule },
  "schedules.remove": { parameters: { id: schedule.id } },
  "secrets.list": { answer: { items: [secret] } },
  "secrets.put": {
    parameters: { name: secret.name },
    body: { value: "ghp_example0", origin: secret.origin },
    answer: secret,
  },
  "secrets.remove": { parameters: { name: secret.name } },
  "audit.list": { parameters: { limit: 20 }, answer: { items: [auditEntry] } },
}
