import { useRef, useState } from "preact/hooks"
import type { Agent } from "../../../client/gateway/GatewayClient.ts"
import { Ago, useNow } from "../../shared/Ago.tsx"
import { usdPlain } from "../../../domain/routing/dollars.ts"
import { excerpt, plural } from "../../shared/format.ts"
import { Pager, useCursors } from "../../shared/Pager.tsx"
import { Confirm } from "../Dialog.tsx"
import { hrefOf } from "../route.ts"
import { useSession } from "../session/SessionContext.ts"
import { useLoad } from "../useLoad.ts"
import { Empty, Loading, Problem, View } from "../View.tsx"
import { withoutUndefined } from "../../../domain/json/withoutUndefined.ts"

const PAGE = 20

export const limitsOf = ({ limits }: Agent): string =>
  [
    plural(limits.max_rounds, "round"),
    `${limits.timeout_seconds} s`,
    ...(limits.max_cost_micro_usd === undefined ? [] : [usdPlain(limits.max_cost_micro_usd)]),
    ...(limits.max_calls === undefined ? [] : [`${plural(limits.max_calls, "call")}`]),
    ...(limits.max_tokens === undefined ? [] : [`${plural(limits.max_tokens, "token")}`]),
  ].join(", ")

const AgentItem = ({ agent, now, onDelete }: { agent: Agent; now: number; onDelete: () => void }) => {
  const { owner } = useSession()
  return (
    <li class="card item">
      <div class="item-main">
        <h3>
          <a href={hrefOf({ view: "agent", id: agent.id })}>{agent.name}</a>
        </h3>
        {(agent.role ?? agent.instructions) !== undefined && (
          <p class="small">{excerpt(agent.role ?? agent.instructions ?? "", 160)}</p>
        )}
        <p class="small muted">
          {agent.default_mode} · at most {limitsOf(agent)} · made <Ago time={agent.created_at} now={now} />
        </p>
      </div>
      <div class="row">
        {owner.runs && (
          <a class="button" href={hrefOf({ view: "agent", id: agent.id })}>
            Run a task<span class="visually-hidden"> with {agent.name}</span>
          </a>
        )}
        {owner.changes && (
          <button type="button" onClick={onDelete}>
            Delete<span class="visually-hidden"> {agent.name}</span>
          </button>
        )}
      </div>
    </li>
  )
}

export const AgentsView = () => {
  const { announce, gateway, owner } = useSession()
  const pages = useCursors()
  const now = useNow(30_000)
  const [doomed, setDoomed] = useState<Agent>()
  const list = useRef<HTMLDivElement>(null)
  const { cursor } = pages
  const { busy, failure, reload, value } = useLoad(
    (signal) => gateway.agents.list({ limit: PAGE, signal, ...withoutUndefined({ cursor }) }),
    [gateway, cursor],
  )
  const agents = value?.items ?? []

  return (
    <View
      title="Agents"
      actions={
        owner.changes && (
          <a class="button primary" href={hrefOf({ view: "new-agent" })}>
            New agent
          </a>
        )
      }
    >
      {failure !== undefined && <Problem failure={failure} onRetry={reload} />}
      {value === undefined && failure === undefined && <Loading what="agents" />}
      {value !== undefined && agents.length === 0 && (
        <Empty title={pages.page === 1 ? "No agents yet." : "Nothing on this page."}>
          An agent is a name, instructions and limits that you set once; then you give it tasks, and it argues over or
          verifies its answers. {owner.changes && <a href={hrefOf({ view: "new-agent" })}>Make the first one.</a>}
        </Empty>
      )}
      <div ref={list} tabIndex={-1} aria-label="List of agents" role="group" aria-busy={busy}>
        <ul class="stack">
          {agents.map((agent) => (
            <AgentItem key={agent.id} agent={agent} now={now} onDelete={() => setDoomed(agent)} />
          ))}
        </ul>
      </div>
      <Pager pages={pages} next={value?.next_cursor} settled={!busy && failure === undefined} />
      {doomed !== undefined && (
        <Confirm
          title={`Delete ${doomed.name}?`}
          verb="Delete"
          busyText="Deleting…"
          act={() => gateway.agents.remove(doomed.id)}
          onClose={(deleted) => {
            setDoomed(undefined)
            if (!deleted) return
            announce(`${doomed.name} was deleted.`)
            // The focused button is gone with its agent.
            list.current?.focus()
            reload()
          }}
        >
          It takes no more tasks. Its jobs stay readable. This cannot be undone.
        </Confirm>
      )}
    </View>
  )
}
