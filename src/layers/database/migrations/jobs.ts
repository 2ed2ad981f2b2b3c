/**
 * Jobs, their steps, and idempotency keys. The table of jobs is the queue: `due_at` is when a queued job may begin, or
 * when a running job's worker counts as dead. Times that processes compare, such as this one, are the database's.
 * `lease` fences a running job: only the worker that holds it writes. The unique index on steps allows one outcome per
 * name. `agent_version` stands beside the agent for readers that do not need the agent's possibly large text; so does
 * the receipt of a step.
 */
export const jobs: ReadonlyArray<string> = [
  `CREATE TABLE jobs (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    agent_version INTEGER NOT NULL,
    mode TEXT NOT NULL,
    status TEXT NOT NULL,
    due_at BIGINT NOT NULL,
    attempt INTEGER NOT NULL,
    crashes INTEGER NOT NULL,
    failing_since BIGINT,
    faults INTEGER NOT NULL,
    lease TEXT,
    ran_ms BIGINT NOT NULL,
    last_event INTEGER NOT NULL,
    task TEXT NOT NULL,
    options TEXT NOT NULL,
    metadata TEXT NOT NULL,
    at_most TEXT,
    result TEXT,
    problem TEXT,
    traceparent TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    finished_at BIGINT,
    expires_at BIGINT NOT NULL
  )`,
  `CREATE INDEX jobs_by_tenant ON jobs (tenant, id)`,
  `CREATE INDEX jobs_by_agent ON jobs (tenant, agent_id, id)`,
  `CREATE INDEX jobs_by_status ON jobs (tenant, status, id)`,
  `CREATE INDEX jobs_open ON jobs (status, tenant, due_at, id) WHERE finished_at IS NULL`,
  `CREATE INDEX jobs_expiring ON jobs (expires_at) WHERE finished_at IS NOT NULL`,
  `CREATE TABLE job_steps (
    job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    event INTEGER NOT NULL,
    name TEXT NOT NULL,
    step TEXT NOT NULL,
    status TEXT NOT NULL,
    outcome TEXT,
    call TEXT,
    receipt TEXT,
    started_at BIGINT NOT NULL,
    finished_at BIGINT NOT NULL,
    PRIMARY KEY (job_id, event)
  )`,
  `CREATE UNIQUE INDEX job_steps_once ON job_steps (job_id, name) WHERE status = 'completed'`,
  `CREATE TABLE idempotency_keys (
    tenant TEXT NOT NULL,
    route TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, route, key)
  )`,
  `CREATE INDEX idempotency_keys_by_job ON idempotency_keys (job_id)`,
  `CREATE INDEX idempotency_keys_expiring ON idempotency_keys (expires_at)`,
]
