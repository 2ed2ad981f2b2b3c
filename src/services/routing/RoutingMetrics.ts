/** Metrics of routing. Labels are from closed lists. */
import type { Context } from "effect"
import { counter } from "../metrics.ts"
import type { CallRecord } from "./CallRecord.ts"

const cost = counter("sealgate_routing_cost_micro_usd_total")
const baseline = counter("sealgate_routing_baseline_micro_usd_total")
const unpriced = counter("sealgate_routing_unpriced_calls_total")

/** Counts calls that are in the ledger. */
export const countRecords = (records: ReadonlyArray<CallRecord>, context: Context.Context<never>): void => {
  for (const record of records) {
    const labels = { strategy: record.strategy, mode: record.mode ?? "none" }
    if (record.cost === null || record.baseline === null) unpriced(labels).updateUnsafe(1, context)
    else {
      cost(labels).updateUnsafe(record.cost, context)
      baseline(labels).updateUnsafe(record.baseline, context)
    }
  }
}
