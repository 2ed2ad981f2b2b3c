import type { ProviderHealth } from "../../../client/gateway/GatewayClient.ts"
import { Ago } from "../../shared/Ago.tsx"
import { Badge } from "../jobs/badges.tsx"

const CIRCUITS = {
  closed: { word: "working", mark: "✓", tone: "good" },
  "half-open": { word: "being tried again", mark: "◐", tone: "warn" },
  open: { word: "not called", mark: "✕", tone: "bad" },
} as const
const NEEDS_OPERATOR = { word: "needs its operator", mark: "✕", tone: "bad" } as const
const FAILING = { word: "its last call failed", mark: "!", tone: "warn" } as const

const lookOf = ({ circuit, fault }: ProviderHealth) => {
  if (fault?.lasting === true) return NEEDS_OPERATOR
  return fault !== null && circuit === "closed" ? FAILING : CIRCUITS[circuit]
}

const words = (outcome: string): string => outcome.replaceAll("-", " ")

const Provider = ({ health, now }: { readonly health: ProviderHealth; readonly now: number }) => {
  const { circuit, fault, last_failure, model, models = [], provider } = health
  return (
    <li class="stack tight small">
      <div class="view-head">
        <h4>
          {provider} <span class="muted">{model}</span>
        </h4>
        <Badge look={lookOf(health)} what="State" />
      </div>
      {fault !== null && (
        <p>
          {words(fault.outcome)} for {fault.model}, first <Ago time={fault.since} now={now} />
          {fault.reason != null && `, ${fault.reason}`}
          {fault.host != null && `, at ${fault.host}`}
          {fault.fix !== undefined && `: ${fault.fix}`}
        </p>
      )}
      {fault === null && last_failure !== null && (
        <p class={circuit === "closed" ? "muted" : ""}>
          {circuit === "closed" ? "Last failure" : "Because of failures; yours was"}: {words(last_failure.outcome)},{" "}
          {last_failure.model}, <Ago time={last_failure.at} now={now} />
        </p>
      )}
      {models
        .filter((entry) => entry.circuit !== "closed")
        .map((entry) => (
          <p key={entry.model}>
            {entry.model}: {CIRCUITS[entry.circuit].word}
          </p>
        ))}
    </li>
  )
}

/** Whether each provider can be called, and why not. */
export const Providers = ({
  now,
  providers,
}: {
  readonly providers: ReadonlyArray<ProviderHealth>
  readonly now: number
}) => (
  <section class="card stack tight" aria-labelledby="providers-title">
    <h3 id="providers-title">Providers now</h3>
    <ul class="stack">
      {providers.map((health) => (
        <Provider key={health.provider} health={health} now={now} />
      ))}
    </ul>
  </section>
)
