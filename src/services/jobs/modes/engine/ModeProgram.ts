/** A mode as the program of its jobs. */
import type { Effect } from "effect"
import type { JobResult } from "../../../../domain/jobs/modes.ts"
import type { PlannedJob } from "../../CostBound.ts"
import type { JobContext, JobFailure } from "../../JobProgram.ts"
import type { Asking } from "./Asking.ts"
import type { MaxCalls } from "./highestCost.ts"
import type { Toolbox } from "./toolUse.ts"

export interface ModeProgram {
  /** The most calls of a job; `undefined` if unknown. */
  readonly maxCalls: (job: PlannedJob) => MaxCalls | undefined
  readonly run: (context: JobContext, asking: Asking, tools: Toolbox) => Effect.Effect<JobResult, JobFailure>
}
