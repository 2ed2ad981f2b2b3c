import type { RoutingStats } from "../../../client/gateway/GatewayClient.ts"
import { Table } from "../../shared/Table.tsx"
import { usd } from "../../../domain/routing/dollars.ts"
import { count, percent } from "../../shared/format.ts"
import { latency } from "./Totals.tsx"

const FIGURES = ["Calls", "Failed", "Latency p50", "p95", "Cost", "Baseline", "Saved"]

export const ModelTable = ({ stats }: { readonly stats: RoutingStats }) => (
  <section class="card stack tight" aria-labelledby="models-title">
    <h3 id="models-title">By model</h3>
    <Table label="Table of models" columns={["Model", ...FIGURES.map((name) => [name, "number"] as const)]}>
      {stats.by_provider_model.map((entry) => (
        <tr key={`${entry.provider} ${entry.model}`}>
          <th scope="row">
            {entry.model} <span class="muted">{entry.provider}</span>
          </th>
          <td class="number">{count(entry.calls)}</td>
          <td class="number">{count(entry.failed_calls)}</td>
          <td class="number">{latency(entry.latency_p50_ms)}</td>
          <td class="number">{latency(entry.latency_p95_ms)}</td>
          <td class="number">{usd(entry.actual_micro_usd)}</td>
          <td class="number">{usd(entry.baseline_micro_usd)}</td>
          <td class="number">
            {usd(entry.saved_micro_usd)}
            {entry.saved_percent !== null && <span class="muted"> {percent(entry.saved_percent)}</span>}
          </td>
        </tr>
      ))}
    </Table>
  </section>
)
