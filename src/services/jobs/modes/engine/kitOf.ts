/** The tools of a mode in which several models do the task or examine answers. */
import { Effect } from "effect"
import type { Effort } from "../../../../domain/jobs/modes/description.ts"
import type { JobContext } from "../../JobProgram.ts"
import type { Kit } from "./conversation.ts"
import { effortOf } from "./effortOf.ts"
import type { Toolbox } from "./toolUse.ts"

/** Turns for one answer. Fewer than in the direct mode, because these modes ask for several answers. */
const TURNS: Readonly<Record<Effort, number>> = { low: 3, medium: 5, high: 8 }

/** Maximum number of turns for one answer; 1 if no tool can be called. */
export const toolTurns = (job: Pick<JobContext, "agent" | "options">): number => {
  const { limits, mcp_servers = [], tools = [] } = job.agent
  const hasTools = mcp_servers.length > 0 || tools.some(({ read_only }) => read_only === true)
  return hasTools ? Math.min(TURNS[effortOf(job)], limits.max_turns ?? Infinity) : 1
}

/** Lists the tools; `undefined` if none can be called. */
export const kitOf = Effect.fnUntraced(function* (context: JobContext, { call, offered }: Toolbox) {
  const turns = toolTurns(context)
  const tools = turns === 1 ? [] : yield* offered
  const kit: Kit | undefined = tools.length === 0 ? undefined : { tools, turns, call }
  return kit
})

/** Whether tools of the agent are not offered here. */
export const withholds = ({ agent: { tools = [] } }: Pick<JobContext, "agent">): boolean =>
  tools.some(({ read_only }) => read_only !== true)
