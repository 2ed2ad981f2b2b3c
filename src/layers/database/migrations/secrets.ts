/** `sealed` is the value, encrypted with the operator's key and bound to the other columns. */
export const secrets: ReadonlyArray<string> = [
  `CREATE TABLE secrets (
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    origin TEXT NOT NULL,
    sealed TEXT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, name)
  )`,
]
