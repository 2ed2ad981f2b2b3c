/**
 * Concurrency keys. `concurrency_key` is the key, a space and the tenant. A queued job is held back (1) until it has one of
 * the `concurrency_limit` places of its key, which it keeps until it ends.
 */
export const jobConcurrency: ReadonlyArray<string> = [
  `ALTER TABLE jobs ADD COLUMN concurrency_key TEXT`,
  `ALTER TABLE jobs ADD COLUMN concurrency_limit INTEGER`,
  `ALTER TABLE jobs ADD COLUMN held_back INTEGER NOT NULL DEFAULT 0`,
  `CREATE INDEX jobs_with_place ON jobs (concurrency_key)
    WHERE concurrency_key IS NOT NULL AND held_back = 0 AND finished_at IS NULL`,
  `CREATE INDEX jobs_held_back ON jobs (concurrency_key, due_at, id) WHERE held_back = 1 AND finished_at IS NULL`,
]
