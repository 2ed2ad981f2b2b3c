import type { Agent } from "../../../client/gateway/GatewayClient.ts"
import { Ago, useNow } from "../../shared/Ago.tsx"
import { usdPlain } from "../../../domain/routing/dollars.ts"
import { excerpt, plural } from "../../shared/format.ts"
import { ItemList } from "../ItemList.tsx"
import { hrefOf } from "../route.ts"
import { useSession } from "../session/SessionContext.ts"
import { usePages } from "../usePages.ts"
import { View } from "../View.tsx"

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
  const { gateway, owner } = useSession()
  const now = useNow(30_000)
  const pages = usePages((at) => gateway.agents.list({ limit: PAGE, ...at }), [gateway])
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
      <ItemList
        pages={pages}
        what="agents"
        about={
          <>
            An agent is a name, instructions and limits that you set once; then you give it tasks, and it argues over or
            verifies its answers. {owner.changes && <a href={hrefOf({ view: "new-agent" })}>Make the first one.</a>}
          </>
        }
        removalOf={({ id, name }) => ({
          title: `Delete ${name}?`,
          verb: "Delete",
          busyText: "Deleting…",
          act: () => gateway.agents.remove(id),
          effect: "It takes no more tasks. Its jobs stay readable.",
          done: `${name} was deleted.`,
        })}
      >
        {(agent, remove) => <AgentItem key={agent.id} agent={agent} now={now} onDelete={remove} />}
      </ItemList>
    </View>
  )
}
