/** Examples of a step and a job, as the API returns them. */
import type { Job, Step } from "../../../../src/client/gateway/GatewayJobs.ts"

export const step = (kind: string, members: Partial<Step> = {}): Step => ({
  name: kind,
  kind,
  status: "completed",
  provider: "provider1",
  model: "small",
  usage: null,
  cost_micro_usd: null,
  started_at: "2026-11-21T12:00:00.000Z",
  finished_at: "2026-11-21T12:00:01.000Z",
  ...members,
})

export const job = (members: Partial<Job> = {}): Job => ({
  id: "01890a5d-ac96-774b-bcce-b302099a8057",
  agent_id: "01890a5d-ac96-774b-bcce-b302099a8057",
  agent_version: 1,
  mode: "adversarial",
  status: "running",
  priority: "normal",
  attempt: 1,
  task: "x",
  options: {},
  usage: { input_tokens: 0, output_tokens: 0, cached_tokens: 0, calls: 0 },
  cost_micro_usd: 0,
  steps: [],
  created_at: "2026-11-21T12:00:00.000Z",
  expires_at: "2026-12-21T12:00:00.000Z",
  trace_id: "0",
  metadata: {},
  ...members,
})
