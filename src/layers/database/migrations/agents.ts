/** `document` is JSON; `version` serves optimistic locking, and `name` look-ups: as JSON, for Postgres stores no NUL. */
export const agents: ReadonlyArray<string> = [
  `CREATE TABLE agents (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    version INTEGER NOT NULL,
    name TEXT NOT NULL,
    document TEXT NOT NULL
  )`,
  `CREATE INDEX agents_by_tenant ON agents (tenant, id)`,
  `CREATE INDEX agents_by_name ON agents (tenant, name, id)`,
]
