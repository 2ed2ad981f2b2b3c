/** The history of routing configurations; the highest version is in force. */
export const routingConfigs: ReadonlyArray<string> = [
  `CREATE TABLE routing_configs (
    version INTEGER PRIMARY KEY,
    document TEXT NOT NULL,
    stored_by TEXT NOT NULL,
    stored_at BIGINT NOT NULL
  )`,
]
