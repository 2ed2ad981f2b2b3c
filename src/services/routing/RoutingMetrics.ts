/** What is counted about routing. Labels are from closed lists. */
import { Effect, Metric } from "effect"
import { counter } from "../metrics.ts"
import type { CallRecord } from "./CallRecord.ts"

const cost = counter("sealgate_routing_cost_micro_usd_total")
const baseline = counter("sealgate_routing_baseline_micro_usd_total")
const unpriced = counter("sealgate_routing_unpriced_calls_total")

/** Counts calls that were entered in the ledger. */
export const countRecords = (records: ReadonlyArray<CallRecord>): Effect.Effect<void> =>
  Effect.forEach(
    records,
    (record) => {
      const labels = { strategy: record.strategy, mode: record.mode ?? "none" }
      return record.cost === null || record.baseline === null
        ? Metric.update(unpriced(labels), 1)
        : Effect.andThen(Metric.update(cost(labels), record.cost), Metric.update(baseline(labels), record.baseline))
    },
    { discard: true },
  )
