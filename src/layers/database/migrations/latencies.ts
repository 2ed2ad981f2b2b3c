import { LATENCY_NAMES } from "../../../domain/routing/latency.ts"

/** A histogram of the successful calls' latencies in the hourly sums. Earlier hours have none. */
export const latencies: ReadonlyArray<string> = LATENCY_NAMES.map(
  (name) => `ALTER TABLE ledger_hours ADD COLUMN ${name} BIGINT NOT NULL DEFAULT 0`,
)
