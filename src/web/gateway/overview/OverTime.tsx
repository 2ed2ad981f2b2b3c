import { useState } from "preact/hooks"
import type { RoutingStats } from "../../../client/gateway/GatewayClient.ts"
import { usd } from "../../../domain/routing/dollars.ts"
import { count, duration } from "../../shared/format.ts"
import { Segments } from "../Segments.tsx"
import { Chart } from "./Chart.tsx"
import { columnLabel, inWords, type Range, RANGES } from "./ranges.ts"
import { TimeTable } from "./TimeTable.tsx"

type TimeSlice = NonNullable<RoutingStats["over_time"]>[number]
type Sum = (part: TimeSlice) => number | null

interface Subject {
  readonly label: string
  readonly lines: boolean
  readonly format: (value: number) => string
  readonly series: readonly [Column, Column]
}
type Column = readonly [label: string, colour: string, of: Sum]

const SUBJECTS = {
  cost: {
    label: "Cost",
    lines: false,
    format: (value) => (Number.isInteger(value) ? usd(value) : ""),
    series: [
      ["actual", "--accent", (part) => part.actual_micro_usd],
      ["at the baseline", "--baseline", (part) => part.baseline_micro_usd],
    ],
  },
  calls: {
    label: "Calls",
    lines: false,
    format: (value) => (Number.isInteger(value) ? count(value) : ""),
    series: [
      ["calls", "--accent", (part) => part.calls],
      ["failed", "--bad", (part) => part.failed_calls],
    ],
  },
  latency: {
    label: "Latency",
    lines: true,
    format: duration,
    series: [
      ["p50", "--accent", (part) => part.latency_p50_ms],
      ["p95", "--warn", (part) => part.latency_p95_ms],
    ],
  },
} as const satisfies Record<string, Subject>

const CHOICES = { cost: "Cost", calls: "Calls", latency: "Latency" } as const satisfies Record<
  keyof typeof SUBJECTS,
  string
>

/** Cost, calls or latency per hour or day: a chart, and all figures as a table. */
export const OverTime = ({ range, stats }: { readonly stats: RoutingStats; readonly range: Range }) => {
  // Without prices, no cost is known, and the chart would be empty.
  const first = stats.calls > 0 && stats.calls === stats.unpriced_calls ? "calls" : "cost"
  const [chosen = first, choose] = useState<keyof typeof SUBJECTS>()
  const parts = stats.over_time ?? []
  const { interval, label } = RANGES[range]
  const { format, label: name, lines, series }: Subject = SUBJECTS[chosen]
  const seriesOf = ([label, colour, of]: Column) => ({ label, colour, values: parts.map(of) })
  return (
    <figure class="card stack tight">
      <figcaption class="view-head">
        <h3>
          {name} per {interval}, {label}
        </h3>
        <Segments label="Figure" choices={CHOICES} value={chosen} onChange={choose} />
      </figcaption>
      <Chart
        words={inWords(stats, range)}
        columns={parts.map((part) => columnLabel(part.from, interval))}
        series={[seriesOf(series[0]), seriesOf(series[1])]}
        lines={lines}
        format={format}
      />
      <p class="small muted">Times are UTC. The last column is not complete yet.</p>
      <details>
        <summary>The same as a table</summary>
        <TimeTable parts={parts} interval={interval} />
      </details>
    </figure>
  )
}
