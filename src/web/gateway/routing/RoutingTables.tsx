import type { RoutingSettings } from "../../../client/gateway/GatewayClient.ts"
import { Table } from "../../shared/Table.tsx"
import type { Change } from "./changes.ts"
import { dollars, nameOf } from "./routingForm.ts"

export const PricesInForce = ({ prices }: { readonly prices: RoutingSettings["effective_prices"] }) => (
  <section class="card stack tight" aria-labelledby="prices-title">
    <h3 id="prices-title">Prices in force, $ per million tokens</h3>
    <Table
      label="Table of prices"
      class="rows"
      columns={[
        "Model",
        ["Input", "number"],
        ["Output", "number"],
        ["Cached", "number"],
        ["Cache writes", "number"],
        "Known from",
      ]}
    >
      {prices.map((entry) => (
        <tr key={nameOf(entry)}>
          <th scope="row">{nameOf(entry)}</th>
          <td class="number">{dollars(entry.prices?.input) || "unknown"}</td>
          <td class="number">{dollars(entry.prices?.output) || "unknown"}</td>
          <td class="number">{dollars(entry.prices?.cached_input) || "unknown"}</td>
          <td class="number">{dollars(entry.prices?.cache_write_input ?? entry.prices?.input) || "unknown"}</td>
          <td>
            {entry.source ?? (entry.prices === null ? "nowhere: enter them above" : "the configuration")}
            {entry.as_of !== undefined && <span class="muted"> as of {entry.as_of}</span>}
          </td>
        </tr>
      ))}
    </Table>
  </section>
)

export const Changes = ({ changes }: { readonly changes: ReadonlyArray<Change> }) => (
  <section class="card stack tight" aria-labelledby="changes-title">
    <h3 id="changes-title">What Save changes</h3>
    {changes.length === 0 ? (
      <p class="small muted">Nothing yet.</p>
    ) : (
      <Table label="Table of changes" class="rows" columns={["What", "In force", "After saving"]}>
        {changes.map(({ after, before, what }) => (
          <tr key={what}>
            <th scope="row">{what}</th>
            <td>
              <del>{before}</del>
            </td>
            <td>
              <ins>{after}</ins>
            </td>
          </tr>
        ))}
      </Table>
    )}
  </section>
)
