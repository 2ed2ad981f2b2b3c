/** `document` is the agent as JSON; `version` is repeated beside it, so that a change can demand the one it read. */
export const agents: ReadonlyArray<string> = [
  `CREATE TABLE agents (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    version INTEGER NOT NULL,
    document TEXT NOT NULL
  )`,
  `CREATE INDEX agents_by_tenant ON agents (tenant, id)`,
]
