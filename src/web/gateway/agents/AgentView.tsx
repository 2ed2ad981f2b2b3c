import type { Agent } from "../../../client/gateway/GatewayClient.ts"
import { usd } from "../../../domain/routing/dollars.ts"
import { DEFAULT_INPUT_TIMEOUT_SECONDS } from "../../../domain/jobs/question.ts"
import { DEFAULT_EFFORT } from "../../../domain/jobs/modes/description.ts"
import { useNow } from "../../shared/Ago.tsx"
import { type Fact, Facts } from "../../shared/Facts.tsx"
import { Folded } from "../../shared/Folded.tsx"
import { CopyableId } from "../../shared/Copy.tsx"
import { duration, moment, plural } from "../../shared/format.ts"
import { PERIOD_TEXT } from "../keys/BudgetFieldset.tsx"
import { JobTable } from "../jobs/JobTable.tsx"
import { hrefOf } from "../route.ts"
import { useSession } from "../session/SessionContext.ts"
import { useLoad } from "../useLoad.ts"
import { Unloaded, View } from "../View.tsx"
import { limitsOf } from "./AgentsView.tsx"
import { RunTask } from "./RunTask.tsx"

const RECENT = 5

const budgetsText = ({ budgets = [] }: Agent): string =>
  budgets
    .flatMap(({ max_cost_micro_usd: cost, max_tokens: tokens, per }) => [
      ...(cost === undefined ? [] : [`${usd(cost)} ${PERIOD_TEXT[per]}`]),
      ...(tokens === undefined ? [] : [`${plural(tokens, "token")} ${PERIOD_TEXT[per]}`]),
    ])
    .join(", ")

const abilitiesOf = (agent: Agent): ReadonlyArray<Fact> => {
  const { ask_person, mcp_servers = [], model_policy, tools = [], webhook_url } = agent
  const waits = 1000 * (ask_person?.timeout_seconds ?? DEFAULT_INPUT_TIMEOUT_SECONDS)
  return [
    ["Tools", tools.map(({ name }) => name).join(", ")],
    ["MCP servers", mcp_servers.map(({ name }) => name).join(", ")],
    ["Asks people", ask_person && `and waits ${duration(waits)} for the answer`],
    ["Only models", model_policy.allow?.join(", ")],
    ["Not models", model_policy.deny?.join(", ")],
    ["Budgets", budgetsText(agent)],
    ["Webhook", webhook_url],
  ]
}

/** One agent: its settings, a form for a task, and its latest jobs. */
export const AgentView = ({ id }: { readonly id: string }) => {
  const { gateway, owner } = useSession()
  const now = useNow(30_000)
  const loaded = useLoad(
    async (signal) => {
      const [agent, jobs] = await Promise.all([
        gateway.agents.get(id, { signal }),
        gateway.jobs.list({ agent_id: id, limit: RECENT, signal }),
      ])
      return { agent, jobs: jobs.items }
    },
    [gateway, id],
  )
  const { value } = loaded
  if (value === undefined) {
    return (
      <View title="Agent">
        <Unloaded loaded={loaded} what="the agent" />
        <p>
          <a href={hrefOf({ view: "agents" })}>All agents</a>
        </p>
      </View>
    )
  }
  const { agent, jobs } = value
  return (
    <View title={agent.name}>
      <div class="with-aside">
        <section class="card stack" aria-labelledby="run-title">
          <h3 id="run-title">Run a task</h3>
          {owner.runs ? <RunTask agent={agent} /> : <p>Your token only reads. Running tasks needs the role “run”.</p>}
        </section>
        <section class="card stack" aria-labelledby="about-title">
          <h3 id="about-title">About</h3>
          <Facts
            of={[
              ["Role", agent.role],
              ["Instructions", agent.instructions && <Folded text={agent.instructions} />],
              ["Mode", `${agent.default_mode}, effort ${agent.default_effort ?? DEFAULT_EFFORT}`],
              ["Limits", limitsOf(agent)],
              ...abilitiesOf(agent),
              ["Version", `${agent.version}, changed ${moment(agent.updated_at)}`],
              ["Id", <CopyableId id={agent.id} what="agent id" />],
            ]}
          />
        </section>
      </div>
      {jobs.length > 0 && (
        <section class="card stack tight" aria-labelledby="recent-title">
          <h3 id="recent-title">Its latest jobs</h3>
          <JobTable jobs={jobs} now={now} ofOneAgent />
        </section>
      )}
    </View>
  )
}
