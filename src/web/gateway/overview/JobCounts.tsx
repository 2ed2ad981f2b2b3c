import type { JobSummary } from "../../../client/gateway/GatewayJobs.ts"
import type { JobStatus } from "../../../domain/jobs/job.ts"
import { count } from "../../shared/format.ts"
import { Badge, STATUS } from "../jobs/badges.tsx"
import { hrefOf } from "../route.ts"

const SHOWN: ReadonlyArray<JobStatus> = [
  "running",
  "queued",
  "input_required",
  "completed",
  "failed",
  "timed_out",
  "cancelled",
]

export const JobCounts = ({ label, summary }: { readonly summary: JobSummary; readonly label: string }) => (
  <section class="card stack tight" aria-labelledby="jobs-title">
    <h3 id="jobs-title">Jobs</h3>
    <ul class="counts">
      {SHOWN.map((status) => (
        <li key={status}>
          <a href={hrefOf({ view: "jobs", status })}>
            <strong class="figure">{count(summary[status])}</strong>{" "}
            <Badge look={summary[status] === 0 ? { ...STATUS[status], tone: "" } : STATUS[status]} />
          </a>
        </li>
      ))}
    </ul>
    <p class="small muted">
      {summary.retrying > 0 && `${count(summary.retrying)} of the queued wait for a retry. `}
      Of your tenant: running, queued and waiting now, the others if created in the last {label}.
    </p>
  </section>
)
