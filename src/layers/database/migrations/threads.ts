/** Threads, and the jobs in them: of each at most one that has not ended. */
export const threads: ReadonlyArray<string> = [
  `CREATE TABLE threads (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    created_at BIGINT NOT NULL
  )`,
  `CREATE INDEX threads_by_tenant ON threads (tenant, id)`,
  `ALTER TABLE jobs ADD COLUMN thread TEXT`,
  `CREATE INDEX jobs_by_thread ON jobs (thread, id) WHERE thread IS NOT NULL`,
  `CREATE UNIQUE INDEX jobs_open_in_thread ON jobs (thread) WHERE thread IS NOT NULL AND finished_at IS NULL`,
]
