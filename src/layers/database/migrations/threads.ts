/** Threads. Of the jobs in each, at most one has not ended. */
export const threads: ReadonlyArray<string> = [
  `CREATE TABLE threads (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    created_at BIGINT NOT NULL
  )`,
  `CREATE INDEX threads_by_tenant ON threads (tenant, id)`,
]
