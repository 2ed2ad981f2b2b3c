import type { ProblemCodes } from "../problems.ts"

/** The code of every request that does not have the expected shape. */
export const MALFORMED = "invalid-request"

/** What the gateway alone has to say, by the operations that say it. */
export const GATEWAY_PROBLEMS: ProblemCodes = {
  "": {
    unauthorized: 401,
    "storage-unavailable": 503,
    "token-keys-unavailable": 503,
  },
  agents: { [MALFORMED]: 400, "agent-not-found": 404, "agent-stale": 412 },
  "agents.list": { "cursor-invalid": 400 },
  "agents.execute": { "idempotency-in-flight": 409, "idempotency-key-reused": 422 },
  jobs: { [MALFORMED]: 400, "job-not-found": 404 },
  "jobs.list": { "cursor-invalid": 400 },
  routing: { [MALFORMED]: 400, forbidden: 403, "routing-config-stale": 412, "routing-config-invalid": 422 },
}
