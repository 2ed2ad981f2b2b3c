/** Savings summed call by call, as a reference for reports from the hourly sums. */
import { DateTime, Record } from "effect"
import { LATENCY_CLASSES, latencyAt, LATENCY_NAMES, type LatencyClass } from "../../../src/domain/routing/latency.ts"
import { percentOf } from "../../../src/domain/routing/money.ts"
import { METHOD, type RoutingStatsReport, type Savings } from "../../../src/domain/routing/savings.ts"
import type { CallRecord } from "../../../src/services/routing/CallRecord.ts"
import { PRICE_TABLE } from "../../../src/services/routing/PriceTable.ts"
import type { StatsQuery } from "../../../src/services/routing/RoutingStats.ts"

type Calls = ReadonlyArray<CallRecord>

const sum = (calls: Calls, of: (call: CallRecord) => number | null | undefined): number =>
  calls.reduce((total, call) => total + (of(call) ?? 0), 0)

const latencyClass = (ms: number): LatencyClass =>
  LATENCY_NAMES.find((name) => ms <= LATENCY_CLASSES[name]) ?? "ms_more"

/** The estimate that `latencyAt` makes for the classes of these calls. */
const latencyOf = (calls: Calls, share: number): number | null => {
  const counts: Record<LatencyClass, number> = Record.map(LATENCY_CLASSES, () => 0)
  for (const { latency, outcome } of calls) if (outcome === "success") counts[latencyClass(latency)]++
  return latencyAt(share, counts)
}

const savingsOf = (calls: Calls): Savings => {
  const comparable = calls.filter(({ baseline, cost }) => cost !== null && baseline !== null)
  const compared = sum(comparable, ({ cost }) => cost)
  const baseline = sum(comparable, (call) => call.baseline)
  return {
    requests: calls.filter(({ first }) => first).length,
    calls: calls.length,
    failed_calls: calls.filter(({ outcome }) => outcome !== "success").length,
    input_tokens: sum(calls, ({ tokens }) => tokens?.input),
    output_tokens: sum(calls, ({ tokens }) => tokens?.output),
    cached_tokens: sum(calls, ({ tokens }) => tokens?.cached),
    actual_micro_usd: sum(calls, ({ cost }) => cost),
    compared_micro_usd: compared,
    baseline_micro_usd: baseline,
    saved_micro_usd: baseline - compared,
    saved_percent: percentOf(baseline - compared, baseline),
    unpriced_calls: calls.length - comparable.length,
    latency_p50_ms: latencyOf(calls, 0.5),
    latency_p95_ms: latencyOf(calls, 0.95),
  }
}

/** The dearest first, then those with most calls, then by name. */
const groupedBy = <Key extends object>(calls: Calls, keyOf: (call: CallRecord) => Key) =>
  [...Map.groupBy(calls, (call) => JSON.stringify(keyOf(call)))]
    .flatMap(([name, group]) =>
      group.slice(0, 1).map((call) => ({ name, key: keyOf(call), savings: savingsOf(group) })),
    )
    .sort(
      (a, b) =>
        b.savings.actual_micro_usd - a.savings.actual_micro_usd ||
        b.savings.calls - a.savings.calls ||
        (a.name < b.name ? -1 : 1),
    )
    .map(({ key, savings }) => ({ ...key, ...savings }))

export const reportOf = (all: Calls, { from, tenant, to }: StatsQuery): RoutingStatsReport => {
  const [start, end] = [DateTime.toEpochMillis(from), DateTime.toEpochMillis(to)]
  const calls = all.filter(
    (call) => call.at >= start && call.at < end && (tenant === undefined || call.tenant === tenant),
  )
  return {
    from,
    to,
    ...savingsOf(calls),
    by_provider_model: groupedBy(calls, ({ model, provider }) => ({ provider, model })),
    // The schema of a call's mode is wider than that of the report; the calls of these tests have its two.
    by_mode: groupedBy(calls, ({ mode }) => ({ mode: mode as RoutingStatsReport["by_mode"][number]["mode"] })),
    by_strategy: groupedBy(calls, ({ strategy }) => ({ strategy })),
    price_table: PRICE_TABLE,
    method: METHOD,
  }
}
