import type { GatewayClient, Spend } from "../../../client/gateway/GatewayClient.ts"
import { Table } from "../../shared/Table.tsx"
import { usd } from "../../../domain/routing/dollars.ts"
import { count, shortId } from "../../shared/format.ts"

/** Maximum number of listed keys and agents. */
const TOP = 5

const OF = {
  key: { title: "Keys that cost most", column: "Key", others: "other keys, and tokens" },
  agent: { title: "Agents that cost most", column: "Agent", others: "other agents, and calls without one" },
} as const

/** Reads the keys and agents that cost most since `from`. */
export const loadTopSpend = (gateway: GatewayClient, from: Date, signal: AbortSignal) =>
  Promise.all((["key", "agent"] as const).map((by) => gateway.routing.spend(by, { from, limit: TOP, signal })))

const SpendTable = ({ by, spend }: { readonly by: keyof typeof OF; readonly spend: Spend }) => {
  const { column, others, title } = OF[by]
  return (
    <section class="card stack tight" aria-labelledby={`spend-${by}`}>
      <h3 id={`spend-${by}`}>{title}</h3>
      <Table
        label={`Table of ${by}s`}
        columns={[column, ["Calls", "number"], ["Unpriced", "number"], ["Cost", "number"]]}
      >
        {spend.items.map((item) => (
          <tr key={item.value}>
            <th scope="row" class="name" title={item.name ?? item.value}>
              {item.name ?? <span class="muted">{shortId(item.value)}</span>}
            </th>
            <td class="number">{count(item.calls)}</td>
            <td class="number">{count(item.unpriced_calls)}</td>
            <td class="number">{usd(item.cost_micro_usd)}</td>
          </tr>
        ))}
        {spend.rest.calls > 0 && (
          <tr>
            <th scope="row" class="muted">
              {others}
            </th>
            <td class="number">{count(spend.rest.calls)}</td>
            <td class="number">{count(spend.rest.unpriced_calls)}</td>
            <td class="number">{usd(spend.rest.cost_micro_usd)}</td>
          </tr>
        )}
      </Table>
    </section>
  )
}

/** The dearest keys and agents of the tenant, and the rest. */
export const TopSpend = ({ spends }: { readonly spends: ReadonlyArray<Spend> }) => (
  <div class="columns halves">
    {spends.map((spend) => (
      <SpendTable key={spend.by} by={spend.by === "key" ? "key" : "agent"} spend={spend} />
    ))}
  </div>
)
