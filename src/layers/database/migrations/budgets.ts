/** The used and reserved amounts of each budget: one row per key and period, which begins at `since`. */
export const budgets: ReadonlyArray<string> = [
  `CREATE TABLE budget_use (
    owner TEXT NOT NULL,
    per TEXT NOT NULL,
    since BIGINT NOT NULL,
    cost BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    cost_limit BIGINT NOT NULL,
    tokens_limit BIGINT NOT NULL,
    PRIMARY KEY (owner, per, since)
  )`,
  `ALTER TABLE jobs ADD COLUMN key_budgets TEXT`,
]
