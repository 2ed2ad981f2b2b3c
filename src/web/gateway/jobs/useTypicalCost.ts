import type { Mode } from "../../../domain/jobs/modes.ts"
import { DEFAULT_EFFORT, type Effort } from "../../../domain/jobs/modes/description.ts"
import { useSession } from "../session/SessionContext.ts"
import { useLoad } from "../useLoad.ts"

/**
 * The median cost of the tenant's recent jobs of this mode and effort, in micro-USD; `undefined` if there are none. The
 * default effort is the agent's.
 */
export const useTypicalCost = (mode: Mode, effort: Effort | undefined, agent: string): number | undefined => {
  const { gateway } = useSession()
  // A failure shows nothing: the figure is a convenience, and the agent may have been deleted.
  const { value } = useLoad(
    async (signal) => {
      const [{ typical_costs }, ofAgent] = await Promise.all([
        gateway.jobs.summary({ signal }),
        effort === undefined ? gateway.agents.get(agent, { signal }) : undefined,
      ])
      return { typical_costs, effort: effort ?? ofAgent?.default_effort ?? DEFAULT_EFFORT }
    },
    [gateway, effort, agent],
  )
  return value?.typical_costs.find((known) => known.mode === mode && known.effort === value.effort)?.cost_micro_usd
}
