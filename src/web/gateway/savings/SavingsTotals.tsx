import type { ComponentChildren } from "preact"
import type { RoutingStats } from "../../../client/gateway/GatewayClient.ts"
import { usd } from "../../../domain/routing/dollars.ts"
import { count, percent, plural } from "../../shared/format.ts"

const Figure = ({
  children,
  name,
  note,
  tone = "",
}: {
  readonly name: string
  readonly note?: string
  readonly tone?: string
  readonly children: ComponentChildren
}) => (
  <div class="figure-card">
    <dt>{name}</dt>
    <dd class={`figure ${tone}`}>{children}</dd>
    {note !== undefined && <dd class="small muted">{note}</dd>}
  </div>
)

/** The figures of the whole span. */
export const SavingsTotals = ({ stats }: { readonly stats: RoutingStats }) => {
  const lost = stats.saved_micro_usd < 0
  return (
    <dl class="card figures">
      <Figure
        name="Saved"
        tone={lost ? "bad" : stats.saved_micro_usd > 0 ? "good" : ""}
        note={
          stats.saved_percent === null
            ? "no baseline to compare with"
            : `${percent(stats.saved_percent)} of the baseline`
        }
      >
        {usd(stats.saved_micro_usd)}
      </Figure>
      <Figure name="Actual cost" note={plural(stats.calls, "call")}>
        {usd(stats.actual_micro_usd)}
      </Figure>
      <Figure name="At the baseline" note="the same tokens">
        {usd(stats.baseline_micro_usd)}
      </Figure>
      <Figure name="Unpriced calls" note="in no comparison" tone={stats.unpriced_calls > 0 ? "warn" : ""}>
        {count(stats.unpriced_calls)}
      </Figure>
      <Figure name="Failed calls" note="their cost counts">
        {count(stats.failed_calls)}
      </Figure>
    </dl>
  )
}
