/**
 * The amounts of each budget: one row per owner and period, which begins at `since`. `room_*` is what the last
 * reservation left below the limit: its check keeps concurrent reservations from exceeding a budget together. A
 * reservation belongs to the process that is its `holder` until its lease ends at `until`, in the database's time.
 * `budgets` of a tenant is JSON. A tenant without a row has none.
 */
export const budgets: ReadonlyArray<string> = [
  `CREATE TABLE budget_use (
    owner TEXT NOT NULL,
    per TEXT NOT NULL,
    since BIGINT NOT NULL,
    spent_cost BIGINT NOT NULL,
    spent_tokens BIGINT NOT NULL,
    reserved_cost BIGINT NOT NULL,
    reserved_tokens BIGINT NOT NULL,
    room_cost BIGINT NOT NULL CHECK (room_cost >= 0),
    room_tokens BIGINT NOT NULL CHECK (room_tokens >= 0),
    PRIMARY KEY (owner, per, since)
  )`,
  `CREATE INDEX budget_use_by_age ON budget_use (since) WHERE since > 0`,
  `CREATE TABLE budget_reservations (
    id TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    until BIGINT NOT NULL,
    at BIGINT NOT NULL,
    cost BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    uses TEXT NOT NULL,
    asked TEXT NOT NULL
  )`,
  `CREATE TABLE tenant_budgets (
    tenant TEXT PRIMARY KEY,
    budgets TEXT NOT NULL
  )`,
]
