/**
 * Sums of each tenant's calls by key, agent, model and label (`kind`), for every UTC hour and every UTC day: `unit` is 1
 * or 24 hours, and `period` counts units since the epoch. Days keep a month's report short. Each process has its own rows
 * (`writer`), as in `ledger_hours`. Earlier calls have none.
 */
export const ledgerSpend: ReadonlyArray<string> = [
  `CREATE TABLE ledger_spend (
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    unit INTEGER NOT NULL,
    period BIGINT NOT NULL,
    value TEXT NOT NULL,
    writer INTEGER NOT NULL,
    calls BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    unpriced BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    cost BIGINT NOT NULL,
    PRIMARY KEY (tenant, kind, unit, period, value, writer)
  )`,
]
