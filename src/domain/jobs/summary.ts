/** The report of `/api/v1/jobs/summary`. */
import { Schema } from "effect"
import { Mode } from "./modes.ts"
import { Effort } from "./modes/description.ts"

const SinceFrom = Schema.Natural.annotate({ description: "Of the jobs created since `from`." })

export const JobSummary = Schema.Struct({
  from: Schema.DateTimeUtcFromString,
  running: Schema.Natural.annotate({ description: "Jobs that a worker has." }),
  queued: Schema.Natural.annotate({ description: "Jobs that wait for a worker or a retry." }),
  input_required: Schema.Natural.annotate({ description: "Jobs that wait for a person." }),
  retrying: Schema.Natural.annotate({ description: "The part of `queued` that waits for a retry after a failure." }),
  completed: SinceFrom,
  failed: SinceFrom,
  cancelled: SinceFrom,
  timed_out: SinceFrom,
  typical_costs: Schema.Array(
    Schema.Struct({
      mode: Mode,
      effort: Effort.annotate({ description: "The job's, or its agent's." }),
      cost_micro_usd: Schema.Natural.annotate({ description: "Half of the jobs cost no more." }),
      jobs: Schema.Natural.annotate({ description: "The number of jobs from which the median is computed." }),
    }),
  ).annotate({
    description:
      "Median cost of the latest 100 completed jobs, by mode and effort. Leaves out jobs of unknown cost, and those with `rounds` or `samples` of their own.",
  }),
}).annotate({ identifier: "JobSummary" })
export type JobSummary = typeof JobSummary.Type
