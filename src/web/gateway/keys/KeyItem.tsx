import { useState } from "preact/hooks"
import type { BudgetUse } from "../../../client/gateway/GatewayBudgets.ts"
import type { GatewayKey } from "../../../client/gateway/GatewayKeys.ts"
import { ADMIN_ROLE } from "../../../domain/access/roles.ts"
import { Ago } from "../../shared/Ago.tsx"
import { CopyableId } from "../../shared/Copy.tsx"
import { moment, plural } from "../../shared/format.ts"
import { Badge } from "../jobs/badges.tsx"
import { useSession } from "../session/SessionContext.ts"
import { useAction } from "../useAction.ts"
import { Problem } from "../View.tsx"
import { BudgetBars } from "./BudgetBars.tsx"
import { EditKey } from "./EditKey.tsx"

const EXPIRED = { word: "expired", mark: "✕", tone: "bad" } as const

const modelsOf = ({ models }: GatewayKey): string => {
  const parts = [
    ...(models?.allow === undefined ? [] : [`only ${models.allow.join(", ")}`]),
    ...(models?.deny === undefined ? [] : [`not ${models.deny.join(", ")}`]),
  ]
  return parts.length === 0 ? "all models" : `models: ${parts.join("; ")}`
}

/** Limits other than budgets, in one line. */
const limitsOf = (key: GatewayKey): string =>
  [
    modelsOf(key),
    ...(key.agents === undefined ? [] : [plural(key.agents.length, "agent")]),
    ...(key.requests_per_minute === undefined ? [] : [`${plural(key.requests_per_minute, "request")} per minute`]),
    ...(key.weight === undefined ? [] : [`weight ${key.weight}`]),
    ...(key.max_running_jobs === undefined ? [] : [`at most ${plural(key.max_running_jobs, "running job")}`]),
    ...(key.max_calls_in_flight === undefined ? [] : [`at most ${plural(key.max_calls_in_flight, "call")} in flight`]),
  ].join(" · ")

/** Opens the form of the key as it is now. Managers may not change administrators' keys. */
const ChangeButton = ({ item, onChanged }: { readonly item: GatewayKey; readonly onChanged: () => void }) => {
  const { gateway, owner } = useSession()
  const { busy, failure, run } = useAction()
  const [opened, setOpened] = useState<GatewayKey>()
  if (item.roles.includes(ADMIN_ROLE) && !owner.admin) return null
  return (
    <>
      {failure !== undefined && <Problem failure={failure} />}
      <button type="button" aria-disabled={busy} onClick={() => run(() => gateway.keys.get(item.id), setOpened)}>
        Change<span class="visually-hidden"> {item.name}</span>
      </button>
      {opened !== undefined && (
        <EditKey
          item={opened}
          onClose={(changed) => {
            setOpened(undefined)
            if (changed) onChanged()
          }}
        />
      )}
    </>
  )
}

export const KeyItem = ({
  budgets,
  item,
  now,
  onChanged,
  onRevoke,
}: {
  readonly item: GatewayKey
  readonly budgets: ReadonlyArray<BudgetUse>
  readonly now: number
  readonly onChanged: () => void
  readonly onRevoke: () => void
}) => (
  <li class="card item">
    <div class="item-main">
      <h3 class="row">
        {item.name}
        <span class="badge">{item.roles.join(", ")}</span>
        {item.expires_at !== undefined && Date.parse(item.expires_at) <= now && <Badge look={EXPIRED} />}
      </h3>
      <p class="small muted">{limitsOf(item)}</p>
      <BudgetBars budgets={budgets} />
      <p class="small muted">
        {item.last_used_at === undefined ? (
          "no use noted yet"
        ) : (
          <>
            used <Ago time={item.last_used_at} now={now} />
          </>
        )}{" "}
        · {item.expires_at === undefined ? "no expiry" : `expires ${moment(item.expires_at)}`} · made{" "}
        <Ago time={item.created_at} now={now} /> by {item.created_by}
      </p>
      <p class="small muted">
        <CopyableId id={item.id} what={`id of ${item.name}`} />
      </p>
    </div>
    <div class="row">
      <ChangeButton item={item} onChanged={onChanged} />
      <button type="button" onClick={onRevoke}>
        Revoke<span class="visually-hidden"> {item.name}</span>
      </button>
    </div>
  </li>
)
