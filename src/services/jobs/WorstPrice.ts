/** What a job can come to, worked out before it starts. */
import { Context, Effect } from "effect"
import type { AtMost } from "../../domain/jobs/job.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import type { JobContext } from "./JobProgram.ts"

export type Planned = Pick<JobContext, "agent" | "mode" | "options" | "task">

/** The modes provide it; without them nobody knows. */
export const WorstPrice = Context.Reference<(job: Planned) => Effect.Effect<AtMost | null, StorageUnavailable>>(
  "sealgate/services/jobs/WorstPrice",
  { defaultValue: () => () => Effect.succeed(null) },
)
