/** `next_at` is the database's time of the next job, `request` is JSON, and `key_id` the key that made the schedule. */
export const schedules: ReadonlyArray<string> = [
  `CREATE TABLE schedules (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    key_id TEXT,
    cron TEXT NOT NULL,
    time_zone TEXT,
    request TEXT NOT NULL,
    next_at BIGINT NOT NULL,
    last_job_id TEXT,
    last_problem TEXT,
    created_at BIGINT NOT NULL
  )`,
  `CREATE INDEX schedules_by_tenant ON schedules (tenant, id)`,
  `CREATE INDEX schedules_due ON schedules (next_at)`,
]
