import type { GatewayKey } from "../../../client/gateway/GatewayKeys.ts"
import { usdPlain } from "../../../domain/routing/dollars.ts"
import { plural } from "../../shared/format.ts"
import { PERIOD_TEXT } from "./BudgetFieldset.tsx"

/** The budgets of a key. */
export const BudgetBars = ({ item }: { readonly item: GatewayKey }) => (
  <ul class="stack tight small">
    {(item.budgets ?? []).map(({ max_cost_micro_usd: cost, max_tokens: tokens, per }) => (
      <li key={per}>
        {[
          ...(cost === undefined ? [] : [usdPlain(cost)]),
          ...(tokens === undefined ? [] : [plural(tokens, "token")]),
        ].join(" and ")}{" "}
        {PERIOD_TEXT[per]}
      </li>
    ))}
  </ul>
)
