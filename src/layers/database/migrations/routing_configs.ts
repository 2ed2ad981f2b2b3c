/** Every routing configuration that was ever in force; the highest version is the one that is. */
export const routingConfigs: ReadonlyArray<string> = [
  `CREATE TABLE routing_configs (
    version INTEGER PRIMARY KEY,
    document TEXT NOT NULL,
    stored_by TEXT NOT NULL,
    stored_at BIGINT NOT NULL
  )`,
]
