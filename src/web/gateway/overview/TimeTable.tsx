import type { RoutingStats } from "../../../client/gateway/GatewayClient.ts"
import type { Interval } from "../../../domain/routing/intervals.ts"
import { Table } from "../../shared/Table.tsx"
import { usdExact } from "../../../domain/routing/dollars.ts"
import { count, moment } from "../../shared/format.ts"
import { latency } from "./Totals.tsx"

const FIGURES = ["Calls", "Failed", "Unpriced", "Latency p50", "p95", "Cost", "Baseline", "Saved"]

/** The figures of the chart, to the micro-USD. */
export const TimeTable = ({
  interval,
  parts,
}: {
  readonly parts: NonNullable<RoutingStats["over_time"]>
  readonly interval: Interval
}) => (
  <Table
    label="Table of figures over time"
    columns={[interval === "hour" ? "Hour from" : "Day from", ...FIGURES.map((name) => [name, "number"] as const)]}
  >
    {parts.map((part) => (
      <tr key={part.from}>
        <th scope="row">{moment(part.from)}</th>
        <td class="number">{count(part.calls)}</td>
        <td class="number">{count(part.failed_calls)}</td>
        <td class="number">{count(part.unpriced_calls)}</td>
        <td class="number">{latency(part.latency_p50_ms)}</td>
        <td class="number">{latency(part.latency_p95_ms)}</td>
        <td class="number">{usdExact(part.actual_micro_usd)}</td>
        <td class="number">{usdExact(part.baseline_micro_usd)}</td>
        <td class="number">{usdExact(part.saved_micro_usd)}</td>
      </tr>
    ))}
  </Table>
)
