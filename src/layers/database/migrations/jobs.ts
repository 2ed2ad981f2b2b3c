/**
 * Jobs, their steps, and idempotency keys. The table of jobs is the queue: `due_at` is when a queued job may begin, or
 * when a running job's worker counts as dead. Times that processes compare, such as this one, are the database's.
 * `lease` fences a running job: only the worker that holds it writes. The unique index on steps allows one outcome per
 * name. `agent_version` and `effort` stand beside the agent for readers that do not need the agent's possibly large text;
 * so does the receipt of a step. `effort` is null if rounds or samples of the request override it. `step_bytes` is the
 * size of what readers get of the steps, so that a page of jobs can be bounded without reading them.
 *
 * A tenant's queued jobs are ordered by `priority` (0 to 2), then by `rank`, in which its keys take turns.
 * `concurrency_key` is the key, a space and the tenant. A queued job is held back until it has one of the
 * `concurrency_limit` places of its concurrency key (1), which it keeps until it ends, and then one of the places of its
 * caller's key (2). `question` is what the job waits for, as JSON, and `input_due_at` when it goes on without an answer;
 * `waits_for` is what its last wait for a time was for.
 */
export const jobs: ReadonlyArray<string> = [
  `CREATE TABLE jobs (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    agent_version INTEGER NOT NULL,
    mode TEXT NOT NULL,
    effort TEXT,
    status TEXT NOT NULL,
    due_at BIGINT NOT NULL,
    attempt INTEGER NOT NULL,
    crashes INTEGER NOT NULL,
    failing_since BIGINT,
    faults INTEGER NOT NULL,
    lease TEXT,
    ran_ms BIGINT NOT NULL,
    last_event INTEGER NOT NULL,
    step_bytes BIGINT NOT NULL DEFAULT 0,
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
    expires_at BIGINT NOT NULL,
    key_id TEXT,
    key_models TEXT,
    key_budgets TEXT,
    key_limit INTEGER,
    webhook TEXT,
    question TEXT,
    input_due_at BIGINT,
    waits_for TEXT,
    thread TEXT,
    concurrency_key TEXT,
    concurrency_limit INTEGER,
    held_back INTEGER NOT NULL DEFAULT 0,
    priority INTEGER NOT NULL DEFAULT 1,
    rank BIGINT NOT NULL DEFAULT 0
  )`,
  `CREATE INDEX jobs_by_tenant ON jobs (tenant, id)`,
  `CREATE INDEX jobs_by_agent ON jobs (tenant, agent_id, id)`,
  `CREATE INDEX jobs_by_status ON jobs (tenant, status, id)`,
  `CREATE INDEX jobs_open ON jobs (status, held_back, tenant, priority DESC, rank, id, due_at) WHERE finished_at IS NULL`,
  `CREATE INDEX jobs_by_key ON jobs (tenant, priority, (COALESCE(key_id, '')), rank)
    WHERE status = 'queued' AND held_back = 0 AND finished_at IS NULL`,
  `CREATE INDEX jobs_with_place ON jobs (concurrency_key)
    WHERE concurrency_key IS NOT NULL AND held_back <> 1 AND finished_at IS NULL`,
  `CREATE INDEX jobs_held_back ON jobs (concurrency_key, due_at, id) WHERE held_back = 1 AND finished_at IS NULL`,
  `CREATE INDEX jobs_with_key_place ON jobs (key_id)
    WHERE key_limit IS NOT NULL AND held_back = 0 AND finished_at IS NULL`,
  `CREATE INDEX jobs_held_by_key ON jobs (key_id, priority DESC, due_at, id)
    WHERE held_back = 2 AND finished_at IS NULL`,
  `CREATE INDEX jobs_asking ON jobs (input_due_at) WHERE input_due_at IS NOT NULL`,
  `CREATE INDEX jobs_by_thread ON jobs (thread, id) WHERE thread IS NOT NULL`,
  `CREATE UNIQUE INDEX jobs_open_in_thread ON jobs (thread) WHERE thread IS NOT NULL AND finished_at IS NULL`,
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
    problem TEXT,
    tool TEXT,
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
