import { useState } from "preact/hooks"
import type { JobStatus } from "../../../domain/jobs/job.ts"
import { useNow } from "../../shared/Ago.tsx"
import { CopyableId } from "../../shared/Copy.tsx"
import { plural } from "../../shared/format.ts"
import { Pager } from "../../shared/Pager.tsx"
import { useAgentNames } from "../agents/useAgentNames.ts"
import { hrefOf } from "../route.ts"
import { useSession } from "../session/SessionContext.ts"
import { usePages } from "../usePages.ts"
import { Empty, Unloaded, View } from "../View.tsx"
import { filterOf, type JobFilterFields, JobFilters } from "./JobFilters.tsx"
import { JobTable } from "./JobTable.tsx"

const PAGE = 20
const EVERY_MS = 3000

export const JobsView = ({
  status = "",
  thread = "",
}: {
  readonly status: JobStatus | "" | undefined
  readonly thread: string | undefined
}) => {
  const { announce, gateway } = useSession()
  const [fields, setFields] = useState<JobFilterFields>({ q: "", agent: "", mode: "", status, span: "", thread })
  const now = useNow(1000)
  const pages = usePages(
    (at) => gateway.jobs.list({ limit: PAGE, ...filterOf(fields, Date.now()), ...at }),
    [gateway, fields],
    { every: EVERY_MS, changes: (signal) => gateway.changes({ signal }) },
  )
  const { busy, items: jobs } = pages
  const names = useAgentNames(jobs.map((job) => job.agent_id))
  const isFiltered = Object.values(fields).some((text) => text !== "")
  const more = pages.next !== undefined

  return (
    <View
      title="Jobs"
      actions={
        <a class="button" href={hrefOf({ view: "schedules" })}>
          Schedules
        </a>
      }
    >
      {thread !== "" && (
        <p class="small">
          Jobs of the thread <CopyableId id={thread} what="thread id" /> ·{" "}
          <a href={hrefOf({ view: "jobs" })}>All jobs</a>
        </p>
      )}
      <JobFilters
        fields={fields}
        agents={names}
        onChange={(changed) => {
          setFields({ ...fields, ...changed })
          pages.cursors.reset()
          announce("The list was filtered.")
        }}
      />
      <Unloaded loaded={pages} what="jobs" />
      {pages.value !== undefined && jobs.length === 0 && !busy && (
        <Empty title={isFiltered || more ? "No such jobs." : "No jobs yet."}>
          {more && "There are older ones that were not searched yet. "}
          {isFiltered && !more && "Change the search or the filters to see other jobs."}
          {!isFiltered && (
            <>
              Every task that an agent is given becomes a job. <a href={hrefOf({ view: "agents" })}>Choose an agent</a>{" "}
              and run one.
            </>
          )}
        </Empty>
      )}
      {jobs.length > 0 && (
        <div class="card" aria-busy={busy}>
          <JobTable jobs={jobs} names={names} now={now} />
        </div>
      )}
      <div class="row">
        <Pager pages={pages} />
        {jobs.length > 0 && (
          <p class="small muted">
            {plural(jobs.length, "job")} shown, newest first; updated while this page is visible.
          </p>
        )}
      </div>
    </View>
  )
}
