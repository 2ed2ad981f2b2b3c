import type { Job } from "../../../client/gateway/GatewayJobs.ts"
import { isEnded } from "../../../domain/jobs/job.ts"
import { modeOf } from "../../../domain/jobs/modes.ts"
import { usd } from "../../../domain/routing/dollars.ts"
import { useNow } from "../../shared/Ago.tsx"
import { CopyableId } from "../../shared/Copy.tsx"
import { Facts } from "../../shared/Facts.tsx"
import { Folded } from "../../shared/Folded.tsx"
import { between, count, duration, moment, plural } from "../../shared/format.ts"
import { agentName, useAgentNames } from "../agents/useAgentNames.ts"
import { hrefOf } from "../route.ts"
import { useTypicalCost } from "./useTypicalCost.ts"
import { waitingWords } from "./waiting.ts"

const modeText = ({ mode, options }: Job): string => {
  const option = modeOf(mode)?.option
  const depth = option && options[option.name]
  const most = depth === undefined ? "" : `, ${plural(depth, option?.unit ?? "")} at most`
  return `${mode}${most}${options.effort === undefined ? "" : `, effort ${options.effort}`}`
}

const tokensText = ({ usage }: Job): string => {
  const cached = usage.cached_tokens > 0 ? ` (${count(usage.cached_tokens)} cached)` : ""
  return `${count(usage.input_tokens)} in${cached}, ${count(usage.output_tokens)} out`
}

export const JobFacts = ({ job, task }: { readonly job: Job; readonly task: string }) => {
  const { agent_id, at_most, finished_at, started_at, waiting } = job
  const ended = isEnded(job.status)
  const now = useNow(1000, !ended)
  const names = useAgentNames([agent_id])
  const typical = useTypicalCost(job.mode, job.options.effort, agent_id)
  const ran =
    started_at === undefined ? undefined : duration(between(started_at, finished_at ?? new Date(now).toISOString()))
  return (
    <section class="card stack" aria-labelledby="facts-title">
      <h3 id="facts-title">Job</h3>
      <Facts
        of={[
          ["Task", <Folded text={task} />],
          [
            "Agent",
            <>
              <a href={hrefOf({ view: "agent", id: agent_id })}>{agentName(names, agent_id)}</a>, version{" "}
              {job.agent_version}
            </>,
          ],
          ["Thread", job.thread_id && <a href={hrefOf({ view: "jobs", thread: job.thread_id })}>its jobs</a>],
          ["Mode", modeText(job)],
          ["Priority", job.priority === "normal" ? undefined : job.priority],
          ["Concurrency key", job.concurrency && `${job.concurrency.key}, at most ${job.concurrency.limit} at once`],
          ["Cost", <span class="figure">{usd(job.cost_micro_usd)}</span>],
          ["Usually", typical === undefined ? undefined : usd(typical)],
          ["At most", at_most && `${usd(at_most.cost_micro_usd)} in ${plural(at_most.calls, "call")}`],
          ["Tokens", tokensText(job)],
          ["Calls", count(job.usage.calls)],
          ["Created", moment(job.created_at)],
          ["Waits", waiting && waitingWords(waiting)],
          [ended ? "Took" : "Since its start", ran ?? (ended ? "no time: it never started" : "not started yet")],
          ["Attempt", job.attempt > 1 ? count(job.attempt) : undefined],
          ["Kept until", moment(job.expires_at)],
          ["Id", <CopyableId id={job.id} what="job id" />],
          ["Trace", <CopyableId id={job.trace_id} what="trace id" />],
        ]}
      />
    </section>
  )
}
