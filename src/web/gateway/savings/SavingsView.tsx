import { useState } from "preact/hooks"
import { moment } from "../../shared/format.ts"
import { hrefOf } from "../route.ts"
import { useSession } from "../session/SessionContext.ts"
import { useLoad } from "../useLoad.ts"
import { Empty, Loading, Problem, View } from "../View.tsx"
import { beginOf, type Range, RANGES } from "./ranges.ts"
import { SavingsByModel } from "./SavingsByModel.tsx"
import { SavingsChart } from "./SavingsChart.tsx"
import { SavingsTotals } from "./SavingsTotals.tsx"

const EVERY_MS = 30_000

// Object.entries loses the key type.
const CHOICES = Object.entries(RANGES) as ReadonlyArray<[Range, (typeof RANGES)[Range]]>

type Scope = "tenant" | "all"

interface RangeChoiceProps {
  readonly range: Range
  readonly onChange: (range: Range) => void
}

const RangeChoice = ({ onChange, range }: RangeChoiceProps) => {
  const { announce } = useSession()
  return (
    <div class="segments" role="group" aria-label="Time">
      {CHOICES.map(([name, { label }]) => (
        <button
          key={name}
          type="button"
          aria-pressed={range === name}
          onClick={() => {
            onChange(name)
            announce(`Savings of ${label}`)
          }}
        >
          {label}
        </button>
      ))}
    </div>
  )
}

interface ScopeChoiceProps {
  readonly scope: Scope
  readonly onChange: (scope: Scope) => void
}

const ScopeChoice = ({ onChange, scope }: ScopeChoiceProps) => (
  <>
    <label for="scope" class="visually-hidden">
      Whose calls
    </label>
    <select
      id="scope"
      class="short"
      value={scope}
      onChange={(event) => onChange(event.currentTarget.value === "all" ? "all" : "tenant")}
    >
      <option value="tenant">my tenant</option>
      <option value="all">all tenants</option>
    </select>
  </>
)

export const SavingsView = () => {
  const { gateway, owner } = useSession()
  const [range, setRange] = useState<Range>("day")
  const [scope, setScope] = useState<Scope>("tenant")
  const { busy, failure, reload, value } = useLoad(
    async (signal) => {
      const now = Date.now()
      const stats = await gateway.routing.stats({
        from: new Date(beginOf(range, now)),
        to: new Date(now),
        interval: RANGES[range].interval,
        scope,
        signal,
      })
      return { stats, range }
    },
    [gateway, range, scope],
    { every: EVERY_MS },
  )

  return (
    <View
      title="Savings"
      actions={
        <>
          <RangeChoice range={range} onChange={setRange} />
          {owner.admin && <ScopeChoice scope={scope} onChange={setScope} />}
        </>
      }
    >
      {failure !== undefined && <Problem failure={failure} onRetry={reload} />}
      {value === undefined && failure === undefined && <Loading what="savings" />}
      {value !== undefined && (
        <div class="stack" aria-busy={busy}>
          {value.stats.calls === 0 ? (
            <Empty title={`No calls in ${RANGES[value.range].label}.`}>
              The cost of every call and its cost at the baseline appear here.{" "}
              <a href={hrefOf({ view: "agents" })}>Run a task with an agent</a>, or choose a longer span.
            </Empty>
          ) : (
            <>
              <SavingsTotals stats={value.stats} />
              <SavingsChart stats={value.stats} range={value.range} />
              <SavingsByModel stats={value.stats} />
            </>
          )}
          <section class="card stack tight" aria-labelledby="method-title">
            <h3 id="method-title">How this is calculated</h3>
            <p class="small">{value.stats.method}</p>
            <p class="small muted">
              From {moment(value.stats.from)} to {moment(value.stats.to)}. Price table {value.stats.price_table.version}
              , as of {value.stats.price_table.as_of}.
            </p>
          </section>
        </div>
      )}
    </View>
  )
}
