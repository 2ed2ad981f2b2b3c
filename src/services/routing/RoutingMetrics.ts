/** What is counted about routing. Labels are from closed lists. */
import { Effect, Metric } from "effect"
import type { CallRecord } from "./CallRecord.ts"

/** Micro-USD that calls cost, where both cost and baseline are known, by `strategy` and `mode`. */
const cost = Metric.counter("sealgate_routing_cost_micro_usd_total", {
  description: "Known cost of provider calls that have a baseline, in millionths of a US dollar.",
  incremental: true,
})

/** Micro-USD that the same calls would have cost at the baseline, by `strategy` and `mode`: savings are the difference. */
const baseline = Metric.counter("sealgate_routing_baseline_micro_usd_total", {
  description: "What the same tokens would have cost at the baseline, in millionths of a US dollar.",
  incremental: true,
})

/** Calls whose cost or baseline is not known, by `strategy` and `mode`. */
const unpriced = Metric.counter("sealgate_routing_unpriced_calls_total", {
  description: "Provider calls whose cost or baseline is not known.",
  incremental: true,
})

/** Counts calls that were entered in the ledger. */
export const countRecords = (records: ReadonlyArray<CallRecord>): Effect.Effect<void> =>
  Effect.forEach(
    records,
    (record) => {
      const labels = { strategy: record.strategy, mode: record.mode ?? "none" }
      return record.cost === null || record.baseline === null
        ? Metric.update(Metric.withAttributes(unpriced, labels), 1)
        : Effect.andThen(
            Metric.update(Metric.withAttributes(cost, labels), record.cost),
            Metric.update(Metric.withAttributes(baseline, labels), record.baseline),
          )
    },
    { discard: true },
  )
