/** `sealed` is the value, encrypted and bound to the other columns. A provider has at most one key of a tenant. */
export const secrets: ReadonlyArray<string> = [
  `CREATE TABLE secrets (
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    origin TEXT,
    provider TEXT,
    sealed TEXT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, name),
    UNIQUE (tenant, provider)
  )`,
]
