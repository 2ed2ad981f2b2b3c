import type { BudgetUse } from "../../../client/gateway/GatewayBudgets.ts"
import { usd, usdPlain } from "../../../domain/routing/dollars.ts"
import { count, moment } from "../../shared/format.ts"
import { PERIOD_TEXT } from "./BudgetFieldset.tsx"

const BAR = { width: 320, height: 8 }

interface BarProps {
  readonly spent: number
  readonly reserved: number
  readonly limit: number
}

/** Spent and reserved parts of a limit. Hidden from screen readers, because the text beside it has the figures. */
const Bar = ({ limit, reserved, spent }: BarProps) => {
  const widthOf = (amount: number) => BAR.width * Math.min(1, amount / limit)
  const rect = (className: string, width: number) => <rect class={className} width={width} height={BAR.height} rx="3" />
  return (
    <svg class="budget" viewBox={`0 0 ${BAR.width} ${BAR.height}`} preserveAspectRatio="none" aria-hidden="true">
      {rect("span-whole", BAR.width)}
      {rect("span-reserved", widthOf(spent + reserved))}
      {rect("span-part", widthOf(spent))}
    </svg>
  )
}

const Limit = ({
  limit,
  reserved,
  show,
  spent,
  what,
}: BarProps & { readonly what: string; readonly show: (amount: number) => string }) => (
  <>
    <p>
      {show(spent)} of {what} spent{reserved > 0 && `, ${show(reserved)} reserved`},{" "}
      <strong>{show(Math.max(0, limit - spent - reserved))} left</strong>
    </p>
    <Bar spent={spent} reserved={reserved} limit={limit} />
  </>
)

/** The budgets of a key with their use; a bar for each limit. */
export const BudgetBars = ({ budgets }: { readonly budgets: ReadonlyArray<BudgetUse> }) => (
  <ul class="stack tight small">
    {budgets.map((use) => (
      <li key={use.per}>
        {use.max_cost_micro_usd !== undefined && (
          <Limit
            what={`${usdPlain(use.max_cost_micro_usd)} ${PERIOD_TEXT[use.per]}`}
            show={usd}
            spent={use.spent_micro_usd}
            reserved={use.reserved_micro_usd}
            limit={use.max_cost_micro_usd}
          />
        )}
        {use.max_tokens !== undefined && (
          <Limit
            what={`${count(use.max_tokens)} tokens ${PERIOD_TEXT[use.per]}`}
            show={count}
            spent={use.spent_tokens}
            reserved={use.reserved_tokens}
            limit={use.max_tokens}
          />
        )}
        {use.renews_at !== undefined && <p class="muted">renews {moment(use.renews_at)}</p>}
      </li>
    ))}
  </ul>
)
