/** One exchange with every operation of the gateway, for its OpenAPI document. */
import type { SecretInfo } from "../../domain/access/secrets.ts"
import type { AuditEntry } from "../../domain/access/audit.ts"
import type { BudgetReport } from "../../domain/access/budgets.ts"
import type { CreateKey, GatewayKey, UpdateKey } from "../../domain/access/keys.ts"
import type { LedgerEntry } from "../../domain/routing/ledger.ts"
import { CSV_HEADER } from "../../domain/routing/ledgerCsv.ts"
import type { ProviderHealth } from "../../domain/routing/health.ts"
import type { PricedRoutingSettings, RoutingSettingsInput } from "../../domain/routing/routing.ts"
import { METHOD, type RoutingStatsReport } from "../../domain/routing/savings.ts"
import type { SpendReport } from "../../domain/routing/spend.ts"
import type { Examples } from "../shared/description/showExample.ts"
import { agent, AGENT_ID, CURSOR, JOB_ID, JOB_EXAMPLES, jobId, KEY_ID, LATER, TIME, usage } from "./jobExamples.ts"
import { CALL_EXAMPLES } from "./calls/examples.ts"
import { SYSTEM_EXAMPLES } from "../shared/description/systemExamples.ts"

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

const newKey = {
  name: "ci",
  roles: ["run"],
  models: { allow: ["*mini*"] },
  requests_per_minute: 60,
  max_running_jobs: 4,
  budgets: [{ per: "day", max_cost_micro_usd: 5_000_000 }],
} satisfies typeof CreateKey.Encoded

const key = {
  id: KEY_ID,
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

export const GATEWAY_EXAMPLES: Readonly<Record<string, Examples>> = {
  ...SYSTEM_EXAMPLES,
  ...CALL_EXAMPLES,
  ...JOB_EXAMPLES,
  "changes.follow": { stream: { event: "changed", data: "{}" } },
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
  "secrets.list": { answer: { items: [secret] } },
  "secrets.put": {
    parameters: { name: secret.name },
    body: { value: "ghp_example0", origin: secret.origin },
    answer: secret,
  },
  "secrets.remove": { parameters: { name: secret.name } },
  "audit.list": { parameters: { limit: 20 }, answer: { items: [auditEntry] } },
}
