/** The order of a tenant's queued jobs: by priority (0 to 2), then by rank, in which its keys take turns. */
export const jobRanks: ReadonlyArray<string> = [
  `ALTER TABLE jobs ADD COLUMN priority INTEGER NOT NULL DEFAULT 1`,
  `ALTER TABLE jobs ADD COLUMN rank BIGINT NOT NULL DEFAULT 0`,
  `DROP INDEX jobs_open`,
  `CREATE INDEX jobs_open ON jobs (status, held_back, tenant, priority DESC, rank, id, due_at) WHERE finished_at IS NULL`,
  `CREATE INDEX jobs_by_key ON jobs (tenant, priority, (COALESCE(key_id, '')), rank)
    WHERE status = 'queued' AND held_back = 0 AND finished_at IS NULL`,
]
