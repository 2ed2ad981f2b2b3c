import type { ComponentChildren } from "preact"
import type { RoutingStats } from "../../../client/gateway/GatewayClient.ts"
import { usd } from "../../../domain/routing/dollars.ts"
import { count, duration, percent, plural } from "../../shared/format.ts"

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

/** Formats a latency, which is null without a successful call. */
export const latency = (ms: number | null): string => (ms === null ? "–" : duration(ms))

export const Totals = ({ stats }: { readonly stats: RoutingStats }) => {
  const { calls, failed_calls, latency_p50_ms, latency_p95_ms, saved_micro_usd, saved_percent, unpriced_calls } = stats
  return (
    <dl class="card figures">
      <Figure name="Calls" note="of models, retries included">
        {count(calls)}
      </Figure>
      <Figure
        name="Failed calls"
        tone={failed_calls > 0 ? "bad" : ""}
        note={calls === 0 ? "of none" : `${percent((100 * failed_calls) / calls)} of all`}
      >
        {count(failed_calls)}
      </Figure>
      <Figure
        name="Latency, median"
        note={latency_p95_ms === null ? "no successful call" : `95 % within ${latency(latency_p95_ms)}`}
      >
        {latency(latency_p50_ms)}
      </Figure>
      <Figure
        name="Cost"
        {...(unpriced_calls > 0 && {
          note: `without ${plural(unpriced_calls, "call")} of unknown price`,
        })}
      >
        {usd(stats.actual_micro_usd)}
      </Figure>
      <Figure
        name="Saved"
        tone={saved_micro_usd < 0 ? "bad" : saved_micro_usd > 0 ? "good" : ""}
        note={
          saved_percent === null
            ? "no baseline to compare with"
            : `${percent(saved_percent)} of ${usd(stats.baseline_micro_usd)} at the baseline`
        }
      >
        {usd(saved_micro_usd)}
      </Figure>
    </dl>
  )
}
