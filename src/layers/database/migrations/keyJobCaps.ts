/**
 * Caps on the jobs of keys. A queued job is held back (2) until it has one of the places of its key, which it
 * takes after the one of its concurrency key. The cap has a column of its own because Postgres cannot read a document with
 * U+0000 as JSON.
 */
export const keyJobCaps: ReadonlyArray<string> = [
  `ALTER TABLE gateway_keys ADD COLUMN max_running_jobs INTEGER`,
  `ALTER TABLE jobs ADD COLUMN key_limit INTEGER`,
  `DROP INDEX jobs_with_place`,
  `CREATE INDEX jobs_with_place ON jobs (concurrency_key)
    WHERE concurrency_key IS NOT NULL AND held_back <> 1 AND finished_at IS NULL`,
  `CREATE INDEX jobs_with_key_place ON jobs (key_id)
    WHERE key_limit IS NOT NULL AND held_back = 0 AND finished_at IS NULL`,
  `CREATE INDEX jobs_held_by_key ON jobs (key_id, priority DESC, due_at, id)
    WHERE held_back = 2 AND finished_at IS NULL`,
]
