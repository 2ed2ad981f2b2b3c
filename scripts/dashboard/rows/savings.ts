import { graph, type Row } from "../panels.ts"
import { rate } from "../promql.ts"

/** Micro-USD per second as USD per hour. */
const usdPerHour = (expr: string): string => `${expr} * 3600 / 1e6`
const cost = rate("sealgate_routing_cost_micro_usd_total")
const baseline = rate("sealgate_routing_baseline_micro_usd_total")

export const savings: Row = {
  title: "Savings",
  panels: [
    graph("Cost and baseline", "Dollars per hour; only calls whose cost and baseline are both known.", "currencyUSD", {
      queries: [
        { expr: usdPerHour(cost), legend: "cost" },
        { expr: usdPerHour(baseline), legend: "baseline" },
      ],
    }),
    graph("Saved share", "Of what the baseline would have cost.", "percentunit", {
      expr: `1 - ${cost} / ${baseline}`,
      legend: "saved",
    }),
    graph("Calls without a price", "They are in neither sum; give them prices in the routing configuration.", "cps", {
      expr: rate("sealgate_routing_unpriced_calls_total", { by: ["strategy", "mode"] }),
      legend: "{{strategy}} {{mode}}",
    }),
  ],
}
