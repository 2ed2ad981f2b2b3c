import { LATENCY_NAMES } from "../../../domain/routing/latency.ts"

/**
 * One row per upstream call, and hourly sums: `ledger_hours` has rows for every tenant and, with the empty tenant, for
 * all of them, so that both queries read few rows. Each process has its own rows (`writer`), so that processes do not
 * wait for each other. `hour` counts hours since the epoch. Unknown values are NULL in the ledger and missing from the
 * sums, `unpriced` counts them, and charges against a job's limits are estimated instead. A histogram of the successful
 * calls' latencies is part of the sums. Before the time in `ledger_pruned`, the sums are complete but calls are missing.
 */
export const ledgerCalls: ReadonlyArray<string> = [
  `CREATE TABLE ledger_calls (
    id TEXT PRIMARY KEY,
    at BIGINT NOT NULL,
    request_id TEXT NOT NULL,
    first_of_request INTEGER NOT NULL,
    tenant TEXT NOT NULL,
    job_id TEXT,
    agent_id TEXT,
    mode TEXT NOT NULL,
    strategy TEXT NOT NULL,
    role TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    served_model TEXT,
    input_tokens BIGINT,
    output_tokens BIGINT,
    cached_tokens BIGINT,
    price_version TEXT,
    cost BIGINT,
    charged_tokens BIGINT NOT NULL,
    charged_cost BIGINT NOT NULL,
    baseline BIGINT,
    latency_ms BIGINT NOT NULL,
    ttft_ms BIGINT,
    own_key INTEGER NOT NULL DEFAULT 0,
    outcome TEXT NOT NULL,
    key_id TEXT,
    labels TEXT,
    estimated INTEGER NOT NULL DEFAULT 0,
    reservation_id TEXT
  )`,
  `CREATE INDEX ledger_calls_by_time ON ledger_calls (at, id)`,
  `CREATE INDEX ledger_calls_by_tenant ON ledger_calls (tenant, at, id)`,
  `CREATE INDEX ledger_calls_by_agent ON ledger_calls (tenant, agent_id, at, id) WHERE agent_id IS NOT NULL`,
  `CREATE INDEX ledger_calls_by_key ON ledger_calls (tenant, key_id, at, id) WHERE key_id IS NOT NULL`,
  `CREATE INDEX ledger_calls_by_job ON ledger_calls (job_id) WHERE job_id IS NOT NULL`,
  `CREATE TABLE ledger_pruned (before BIGINT NOT NULL)`,
  `INSERT INTO ledger_pruned (before) VALUES (${Number.MIN_SAFE_INTEGER})`,
  `CREATE TABLE ledger_hours (
    tenant TEXT NOT NULL,
    hour BIGINT NOT NULL,
    mode TEXT NOT NULL,
    strategy TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    writer INTEGER NOT NULL,
    requests BIGINT NOT NULL,
    calls BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    unpriced BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    cost BIGINT NOT NULL,
    compared BIGINT NOT NULL,
    baseline BIGINT NOT NULL,
    ${LATENCY_NAMES.map((name) => `${name} BIGINT NOT NULL,`).join(" ")}
    PRIMARY KEY (tenant, hour, mode, strategy, provider, model, writer)
  )`,
]
