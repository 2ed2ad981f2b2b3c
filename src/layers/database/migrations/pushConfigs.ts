/**
 * Where A2A clients want to be notified of a task that has not ended, and how their notices differ from webhooks:
 * `context_id` is theirs, and `sealed` the encrypted credentials of the receiver.
 */
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
