/**
 * Webhooks. `due_at` is when the next attempt is to be made; `leased_until` is the database's time until which the gateway
 * that made the last one may still be at it. `outcome` is null while the delivery is pending.
 */
export const webhooks: ReadonlyArray<string> = [
  `CREATE TABLE webhook_secrets (
    tenant TEXT PRIMARY KEY,
    secret TEXT NOT NULL,
    previous TEXT,
    changed_at BIGINT NOT NULL
  )`,
  `CREATE TABLE webhook_deliveries (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    agent_id TEXT NOT NULL,
    url TEXT NOT NULL,
    event TEXT NOT NULL,
    job_status TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    leased_until BIGINT NOT NULL,
    attempts INTEGER NOT NULL,
    outcome TEXT,
    failure TEXT
  )`,
  `CREATE INDEX webhook_deliveries_by_job ON webhook_deliveries (job_id)`,
  `CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (tenant, due_at) WHERE outcome IS NULL`,
  `CREATE INDEX webhook_deliveries_fresh ON webhook_deliveries (tenant, due_at) WHERE outcome IS NULL AND attempts = 0`,
]
