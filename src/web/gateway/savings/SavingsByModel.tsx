import type { RoutingStats } from "../../../client/GatewayClient.ts"
import { count, percent, usd } from "../../shared/format.ts"
import { Scroll } from "../../shared/Scroll.tsx"

/** Where the money went. */
export const SavingsByModel = ({ stats }: { readonly stats: RoutingStats }) => (
  <section class="card stack tight" aria-labelledby="models-title">
    <h3 id="models-title">By model</h3>
    <Scroll label="Table of models">
      <table>
        <thead>
          <tr>
            <th scope="col">Model</th>
            <th scope="col" class="number">
              Calls
            </th>
            <th scope="col" class="number">
              Actual
            </th>
            <th scope="col" class="number">
              Baseline
            </th>
            <th scope="col" class="number">
              Saved
            </th>
          </tr>
        </thead>
        <tbody>
          {stats.by_provider_model.map((entry) => (
            <tr key={`${entry.provider} ${entry.model}`}>
              <th scope="row">
                {entry.model} <span class="muted">{entry.provider}</span>
              </th>
              <td class="number">{count(entry.calls)}</td>
              <td class="number">{usd(entry.actual_micro_usd)}</td>
              <td class="number">{usd(entry.baseline_micro_usd)}</td>
              <td class="number">
                {usd(entry.saved_micro_usd)}
                {entry.saved_percent !== null && <span class="muted"> {percent(entry.saved_percent)}</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  </section>
)
