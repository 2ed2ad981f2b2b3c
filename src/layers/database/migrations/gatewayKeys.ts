/**
 * Keys of tenants, and the audit trail. `hash` is the SHA-256 of a key; a key has 256 random bits, so it needs no salt.
 * `document` is the key's description as JSON. The cap on its jobs has a column of its own because Postgres cannot read a
 * document with U+0000 as JSON. Rows of the audit trail are only added.
 */
export const gatewayKeys: ReadonlyArray<string> = [
  `CREATE TABLE gateway_keys (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    document TEXT NOT NULL,
    used_at BIGINT,
    max_running_jobs INTEGER
  )`,
  `CREATE INDEX gateway_keys_by_tenant ON gateway_keys (tenant, id)`,
  `CREATE TABLE audit_entries (
    id TEXT PRIMARY KEY,
    at BIGINT NOT NULL,
    tenant TEXT NOT NULL,
    subject TEXT NOT NULL,
    key_id TEXT,
    action TEXT NOT NULL,
    target TEXT NOT NULL
  )`,
]
