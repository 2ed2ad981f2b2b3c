/** Receivers of notices to A2A clients: `context_id` is theirs, and `sealed` the encrypted credentials. */
export const pushConfigs: ReadonlyArray<string> = [
  `CREATE TABLE push_configs (
    job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    url TEXT NOT NULL,
    context_id TEXT NOT NULL,
    sealed TEXT,
    PRIMARY KEY (job_id, id)
  )`,
  `ALTER TABLE webhook_deliveries ADD COLUMN context_id TEXT`,
  `ALTER TABLE webhook_deliveries ADD COLUMN sealed TEXT`,
]
