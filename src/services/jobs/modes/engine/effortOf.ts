import { DEFAULT_EFFORT, type Effort } from "../../../../domain/jobs/modes/description.ts"
import type { JobContext } from "../../JobProgram.ts"

export const effortOf = ({ agent, options }: Pick<JobContext, "agent" | "options">): Effort =>
  options.effort ?? agent.default_effort ?? DEFAULT_EFFORT
