import type { Job } from "../../../client/gateway/GatewayJobs.ts"
import { isEnded } from "../../../domain/jobs/job.ts"
import { modeOf } from "../../../domain/jobs/modes.ts"
import { useNow } from "../../shared/Ago.tsx"
import { usd } from "../../../domain/routing/dollars.ts"
import { between, count, duration, moment, plural } from "../../shared/format.ts"
import { agentName, useAgentNames } from "../agents/useAgentNames.ts"
import { CopyableId } from "../../shared/Copy.tsx"
import { hrefOf } from "../route.ts"
import { waitingWords } from "./waiting.ts"
import { useTypicalCost } from "./useTypicalCost.ts"

/** Facts about a job: task, cost, times and ids. */
export const JobFacts = ({ job, task }: { readonly job: Job; readonly task: string }) => {
  const { agent_id, finished_at, started_at, usage } = job
  const ended = isEnded(job.status)
  const now = useNow(1000, !ended)
  const names = useAgentNames([agent_id])
  const ran = started_at === undefined ? undefined : between(started_at, finished_at ?? new Date(now).toISOString())
  const { option } = modeOf(job.mode)
  const typical = useTypicalCost(job.mode, job.options.effort, agent_id)
  const depth = job.options[option.name]
  return (
    <section class="card stack" aria-labelledby="facts-title">
      <h3 id="facts-title">Job</h3>
      <dl class="facts">
        <dt>Task</dt>
        <dd class="plain">{task}</dd>
        <dt>Agent</dt>
        <dd>
          <a href={hrefOf({ view: "agent", id: agent_id })}>{agentName(names, agent_id)}</a>, version{" "}
          {job.agent_version}
        </dd>
        <dt>Mode</dt>
        <dd>
          {job.mode}
          {depth !== undefined && `, ${plural(depth, option.unit)} at most`}
          {job.options.effort !== undefined && `, effort ${job.options.effort}`}
        </dd>
        <dt>Cost</dt>
        <dd class="figure">{usd(job.cost_micro_usd)}</dd>
        {typical !== undefined && (
          <>
            <dt>Usually</dt>
            <dd>{usd(typical)}</dd>
          </>
        )}
        {job.at_most !== undefined && (
          <>
            <dt>At most</dt>
            <dd>
              {usd(job.at_most.cost_micro_usd)} in {plural(job.at_most.calls, "call")}
            </dd>
          </>
        )}
        <dt>Tokens</dt>
        <dd>
          {count(usage.input_tokens)} in
          {usage.cached_tokens > 0 && ` (${count(usage.cached_tokens)} cached)`}, {count(usage.output_tokens)} out
        </dd>
        <dt>Calls</dt>
        <dd>{count(usage.calls)}</dd>
        <dt>Created</dt>
        <dd>{moment(job.created_at)}</dd>
        {job.waiting !== undefined && (
          <>
            <dt>Waits</dt>
            <dd>{waitingWords(job.waiting)}</dd>
          </>
        )}
        <dt>{ended ? "Took" : "Running for"}</dt>
        <dd>{ran === undefined ? (ended ? "no time: it never started" : "not started yet") : duration(ran)}</dd>
        {job.attempt > 1 && (
          <>
            <dt>Attempt</dt>
            <dd>{job.attempt}</dd>
          </>
        )}
        <dt>Kept until</dt>
        <dd>{moment(job.expires_at)}</dd>
        <dt>Id</dt>
        <dd>
          <CopyableId id={job.id} what="job id" />
        </dd>
        <dt>Trace</dt>
        <dd>
          <CopyableId id={job.trace_id} what="trace id" />
        </dd>
      </dl>
    </section>
  )
}
