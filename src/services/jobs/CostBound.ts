/** The upper bound of a job's calls and cost, computed when the job is enqueued. */
import { Context, Effect } from "effect"
import type { AtMost } from "../../domain/jobs/job.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import type { JobContext } from "./JobProgram.ts"

export type PlannedJob = Pick<JobContext, "agent" | "mode" | "options" | "task">

/** Provided by the modes; `null` without them. */
export const CostBound = Context.Reference<(job: PlannedJob) => Effect.Effect<AtMost | null, StorageUnavailable>>(
  "sealgate/services/jobs/CostBound",
  { defaultValue: () => () => Effect.succeed(null) },
)
