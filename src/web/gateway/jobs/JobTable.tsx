import type { Job } from "../../../client/gateway/GatewayJobs.ts"
import { Ago } from "../../shared/Ago.tsx"
import { Table } from "../../shared/Table.tsx"
import { usd } from "../../../domain/routing/dollars.ts"
import { excerpt } from "../../shared/format.ts"
import { agentName } from "../agents/useAgentNames.ts"
import { hrefOf } from "../route.ts"
import { taskText } from "./jobState.ts"
import { waitingWords } from "./waiting.ts"
import { Badge, STATUS, verdictBadge } from "./badges.tsx"

export const JobTable = ({
  jobs,
  names,
  now,
  ofOneAgent = false,
}: {
  readonly jobs: ReadonlyArray<Job>
  readonly names?: ReadonlyMap<string, string> | undefined
  readonly ofOneAgent?: boolean
  readonly now: number
}) => (
  <Table
    label="Table of jobs"
    class="rows"
    columns={[
      "Status",
      "Task",
      ...(ofOneAgent ? [] : [["Agent", "wide"] as const]),
      ["Mode", "wide"],
      ["Cost", "number wide"],
      ["Started", "number wide"],
    ]}
  >
    {jobs.map((job) => (
      <tr key={job.id}>
        <td class="states">
          <span class="row tight">
            <Badge look={STATUS[job.status]} />
            {job.result !== undefined && <Badge look={verdictBadge(job.result)} what="Verdict" />}
          </span>
        </td>
        <td class="task">
          <a href={hrefOf({ view: "job", id: job.id })}>{excerpt(taskText(job.task), 90)}</a>
          {job.waiting !== undefined && job.waiting.reason !== "worker" && (
            <p class="small muted">waits {waitingWords(job.waiting)}</p>
          )}
          <p class="slim small muted">
            {job.cost_micro_usd === null ? "cost unknown" : usd(job.cost_micro_usd)},{" "}
            <Ago time={job.created_at} now={now} />
          </p>
        </td>
        {!ofOneAgent && (
          <td class="wide name" title={agentName(names, job.agent_id)}>
            {agentName(names, job.agent_id)}
          </td>
        )}
        <td class="wide">{job.mode}</td>
        <td class="number wide">{usd(job.cost_micro_usd)}</td>
        <td class="number wide">
          <Ago time={job.created_at} now={now} />
        </td>
      </tr>
    ))}
  </Table>
)
