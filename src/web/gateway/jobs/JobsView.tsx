import { useState } from "preact/hooks"
import { JobStatus } from "../../../domain/jobs/job.ts"
import { useNow } from "../../shared/Ago.tsx"
import { plural } from "../../shared/format.ts"
import { Pager, useCursors } from "../../shared/Pager.tsx"
import { useAgentNames } from "../agents/useAgentNames.ts"
import { hrefOf } from "../route.ts"
import { useSession } from "../session/SessionContext.ts"
import { useLoad } from "../useLoad.ts"
import { Empty, Loading, Problem, View } from "../View.tsx"
import { JobTable } from "./JobTable.tsx"
import { STATUS } from "./badges.tsx"

const PAGE = 20
const EVERY_MS = 3000

const isStatus = (value: string): value is JobStatus => value in STATUS

export const JobsView = () => {
  const { announce, gateway } = useSession()
  const [status, setStatus] = useState<JobStatus>()
  const pages = useCursors()
  const { cursor } = pages
  const now = useNow(1000)
  const { busy, failure, reload, value } = useLoad(
    (signal) => gateway.jobs.list({ limit: PAGE, signal, ...(status && { status }), ...(cursor && { cursor }) }),
    [gateway, status, cursor],
    { every: EVERY_MS },
  )
  const jobs = value?.items ?? []
  const names = useAgentNames(jobs.map((job) => job.agent_id))

  const choose = (chosen: string) => {
    setStatus(isStatus(chosen) ? chosen : undefined)
    pages.reset()
    announce(chosen === "" ? "All jobs" : `Jobs that are ${chosen.replace("_", " ")}`)
  }
  return (
    <View
      title="Jobs"
      actions={
        <>
          <label for="status">Status</label>
          <select
            id="status"
            class="short"
            value={status ?? ""}
            onChange={(event) => choose(event.currentTarget.value)}
          >
            <option value="">all</option>
            {JobStatus.literals.map((status) => (
              <option key={status} value={status}>
                {STATUS[status].word}
              </option>
            ))}
          </select>
        </>
      }
    >
      {failure !== undefined && <Problem failure={failure} onRetry={reload} />}
      {value === undefined && failure === undefined && <Loading what="jobs" />}
      {value !== undefined && jobs.length === 0 && !busy && (
        <Empty title={status === undefined ? "No jobs yet." : `No ${STATUS[status].word} jobs.`}>
          {status === undefined ? (
            <>
              Every task that an agent is given becomes a job. <a href={hrefOf({ view: "agents" })}>Choose an agent</a>{" "}
              and run one.
            </>
          ) : (
            "Choose another status to see other jobs."
          )}
        </Empty>
      )}
      {jobs.length > 0 && (
        <div class="card" aria-busy={busy}>
          <JobTable jobs={jobs} names={names} now={now} />
        </div>
      )}
      <div class="row">
        <Pager pages={pages} next={value?.next_cursor} settled={!busy && failure === undefined} />
        {jobs.length > 0 && (
          <p class="small muted">
            {plural(jobs.length, "job")} shown, newest first; kept up to date while you look at this page.
          </p>
        )}
      </div>
    </View>
  )
}
