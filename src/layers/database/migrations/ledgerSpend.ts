const SUMS = `
    calls BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    unpriced BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    cost BIGINT NOT NULL`

/**
 * Sums of each tenant's calls by key, agent, model and label (`kind`). `ledger_spend_new` has those of the current hour, in
 * rows of each process (`writer`), as in `ledger_hours`. Rows of past hours are moved to `ledger_spend`, where each is added
 * to one period of every length, so that a month is read from few rows: `unit` is the length in hours, and `period`
 * counts units since the epoch. So a call is in one of the two tables.
 */
export const ledgerSpend: ReadonlyArray<string> = [
  `CREATE TABLE ledger_spend_new (
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    hour BIGINT NOT NULL,
    value TEXT NOT NULL,
    writer INTEGER NOT NULL,${SUMS},
    PRIMARY KEY (tenant, kind, hour, value, writer)
  )`,
  `CREATE TABLE ledger_spend (
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    unit INTEGER NOT NULL,
    period BIGINT NOT NULL,
    value TEXT NOT NULL,${SUMS},
    PRIMARY KEY (tenant, kind, unit, period, value)
  )`,
]
