import { useState } from "preact/hooks"
import { useNow } from "../../shared/Ago.tsx"
import { moment } from "../../shared/format.ts"
import { hrefOf } from "../route.ts"
import { Segments } from "../Segments.tsx"
import { useSession } from "../session/SessionContext.ts"
import { useLoad } from "../useLoad.ts"
import { Empty, Unloaded, View } from "../View.tsx"
import { JobCounts } from "./JobCounts.tsx"
import { ModelTable } from "./ModelTable.tsx"
import { OverTime } from "./OverTime.tsx"
import { Providers } from "./Providers.tsx"
import { beginOf, type Range, RANGES } from "./ranges.ts"
import { loadTopSpend, TopSpend } from "./TopSpend.tsx"
import { Totals } from "./Totals.tsx"

const EVERY_MS = 10_000

const CHOICES = { day: "24 hours", week: "7 days", month: "30 days" } as const satisfies Record<Range, string>

type Scope = "tenant" | "all"
const SCOPES = { tenant: "my tenant", all: "all tenants" } as const satisfies Record<Scope, string>

/** Calls, errors, latency and cost of a span, and the state of providers and jobs now. */
export const OverviewView = () => {
  const { announce, gateway, owner } = useSession()
  const [range, setRange] = useState<Range>("day")
  const [scope, setScope] = useState<Scope>("tenant")
  const now = useNow(5000)
  const loaded = useLoad(
    async (signal) => {
      const now = Date.now()
      const from = new Date(beginOf(range, now))
      const [stats, providers, jobs, spends] = await Promise.all([
        gateway.routing.stats({ from, to: new Date(now), interval: RANGES[range].interval, scope, signal }),
        gateway.routing.providers({ scope, signal }),
        gateway.jobs.summary({ from, signal }),
        owner.manages && scope === "tenant" ? loadTopSpend(gateway, from, signal) : undefined,
      ])
      return { stats, providers, jobs, spends, range }
    },
    [gateway, owner.manages, range, scope],
    { every: EVERY_MS, changes: (signal) => gateway.changes({ scope, signal }) },
  )
  const { busy, value } = loaded
  return (
    <View
      title="Overview"
      actions={
        <>
          <Segments
            label="Time"
            choices={CHOICES}
            value={range}
            onChange={(range) => {
              setRange(range)
              announce(`Figures of ${CHOICES[range]}`)
            }}
          />
          {owner.admin && <Segments label="Whose calls" choices={SCOPES} value={scope} onChange={setScope} />}
        </>
      }
    >
      <Unloaded loaded={loaded} what="the overview" />
      {value !== undefined && (
        <div class="stack" aria-busy={busy}>
          {value.stats.calls > 0 && <Totals stats={value.stats} />}
          <div class="columns halves">
            <JobCounts summary={value.jobs} label={CHOICES[value.range]} />
            <Providers providers={value.providers} now={now} />
          </div>
          {value.stats.calls === 0 ? (
            <Empty title={`No calls in ${CHOICES[value.range]}.`}>
              Calls of models appear here with their errors, latency and cost.{" "}
              <a href={hrefOf({ view: "agents" })}>Run a task with an agent</a>, or choose a longer span.
            </Empty>
          ) : (
            <>
              <OverTime stats={value.stats} range={value.range} />
              <ModelTable stats={value.stats} />
              {value.spends !== undefined && <TopSpend spends={value.spends} />}
            </>
          )}
          <details class="card">
            <summary>How this is calculated</summary>
            <p class="small">{value.stats.method}</p>
            <p class="small muted">
              From {moment(value.stats.from)} to {moment(value.stats.to)}. Latencies are estimated from a histogram of
              the successful calls. Price table {value.stats.price_table.version}, as of {value.stats.price_table.as_of}
              .
            </p>
          </details>
        </div>
      )}
    </View>
  )
}
