import { useState } from "preact/hooks"
import type { Schedule } from "../../../client/gateway/GatewaySchedules.ts"
import { CopyableId } from "../../shared/Copy.tsx"
import { excerpt, moment, shortId } from "../../shared/format.ts"
import { agentName, useAgentNames } from "../agents/useAgentNames.ts"
import { ItemList } from "../ItemList.tsx"
import { taskText } from "../jobs/jobState.ts"
import { hrefOf } from "../route.ts"
import { useSession } from "../session/SessionContext.ts"
import { usePages } from "../usePages.ts"
import { View } from "../View.tsx"
import { NewSchedule } from "./NewSchedule.tsx"

const PAGE = 20
const EVERY_MS = 10_000

const textOf = ({ request }: Schedule): string => taskText("task" in request ? request.task : request.messages)

const ScheduleItem = ({
  agent,
  onDelete,
  schedule,
}: {
  readonly schedule: Schedule
  readonly agent: string
  readonly onDelete: () => void
}) => {
  const { owner } = useSession()
  return (
    <li class="card item">
      <div class="item-main">
        <h3>{excerpt(textOf(schedule), 160)}</h3>
        <p class="small">
          <a href={hrefOf({ view: "agent", id: schedule.agent_id })}>{agent}</a> · <code>{schedule.cron}</code>{" "}
          {schedule.time_zone ?? "UTC"} · next {moment(schedule.next_at)}
          {schedule.last_job_id !== undefined && (
            <>
              {" · "}
              <a href={hrefOf({ view: "job", id: schedule.last_job_id })}>last job</a>
            </>
          )}
          {schedule.key_id !== undefined && (
            <>
              {" · key "}
              <CopyableId id={schedule.key_id} shown={shortId(schedule.key_id)} what="key's id" />
            </>
          )}
        </p>
        {schedule.last_problem !== undefined && (
          <p class="small mistake">The last time gave no job: {schedule.last_problem.title}</p>
        )}
      </div>
      {owner.changes && (
        <button type="button" onClick={onDelete}>
          Delete<span class="visually-hidden"> {excerpt(textOf(schedule), 60)}</span>
        </button>
      )}
    </li>
  )
}

/** A page of the tenant's schedules, with what the last time of each gave. */
export const SchedulesView = () => {
  const { gateway, owner } = useSession()
  const [isMaking, setMaking] = useState(false)
  const pages = usePages((at) => gateway.schedules.list({ limit: PAGE, ...at }), [gateway], { every: EVERY_MS })
  const names = useAgentNames(pages.items.map(({ agent_id }) => agent_id))

  return (
    <View
      title="Schedules"
      actions={
        owner.changes && (
          <button type="button" class="primary" onClick={() => setMaking(true)}>
            New schedule
          </button>
        )
      }
    >
      <ItemList
        pages={pages}
        what="schedules"
        about="A schedule gives an agent a task at times of the calendar."
        removalOf={({ id }) => ({
          title: "Delete this schedule?",
          verb: "Delete",
          busyText: "Deleting…",
          act: () => gateway.schedules.remove(id),
          effect: "No further job comes of it. Its jobs stay.",
          done: "The schedule was deleted.",
        })}
      >
        {(schedule, remove) => (
          <ScheduleItem
            key={schedule.id}
            schedule={schedule}
            agent={agentName(names, schedule.agent_id)}
            onDelete={remove}
          />
        )}
      </ItemList>
      {isMaking && (
        <NewSchedule
          onClose={(made) => {
            setMaking(false)
            if (made) pages.reload()
          }}
        />
      )}
    </View>
  )
}
