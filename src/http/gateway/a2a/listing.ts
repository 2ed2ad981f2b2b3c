/** `ListTasks` over the list of jobs (A2A 1.0, §3.1.4). */
import { Effect, Schema } from "effect"
import { type Job, JobStatus } from "../../../domain/jobs/job.ts"
import { TASK_STATES } from "../../../domain/jobs/taskState.ts"
import { isThreadId } from "../../../domain/jobs/thread.ts"
import { type Page, PageSize } from "../../../domain/operations/storage.ts"
import type { Jobs } from "../../../services/jobs/Jobs.ts"
import type { AgentCaller, makeJobOf, Method } from "./caller.ts"
import { TaskId } from "./messages.ts"
import { RpcError } from "./rpcErrors.ts"
import { taskOf } from "./tasks.ts"

const DEFAULT_PAGE_SIZE = 50

/** `TASK_STATE_UNSPECIFIED` is ProtoJSON's absent value. No task of this gateway is in the last two states. */
const State = Schema.Literals([
  "TASK_STATE_UNSPECIFIED",
  ...new Set(Object.values(TASK_STATES)),
  "TASK_STATE_REJECTED",
  "TASK_STATE_AUTH_REQUIRED",
])

const ListTasks = Schema.Struct({
  contextId: Schema.optionalKey(TaskId),
  status: Schema.optionalKey(State),
  pageSize: Schema.optionalKey(PageSize),
  pageToken: Schema.optionalKey(Schema.String),
  /** Tasks have no history here. */
  historyLength: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))),
  includeArtifacts: Schema.optionalKey(Schema.Boolean),
  statusTimestampAfter: Schema.optionalKey(Schema.Unknown),
})
const decode = Schema.decodeUnknownEffect(ListTasks, { errors: "all" })

const statusesOf = (state: typeof State.Type = "TASK_STATE_UNSPECIFIED"): ReadonlyArray<JobStatus> | undefined =>
  state === "TASK_STATE_UNSPECIFIED" ? undefined : JobStatus.literals.filter((status) => TASK_STATES[status] === state)

const withoutArtifacts = (job: Job) => {
  const { artifacts: _, ...task } = taskOf(job)
  return task
}

export const makeListMethod = (jobs: Jobs["Service"], jobOf: ReturnType<typeof makeJobOf>): Method => {
  /** A job outside of threads is alone in its context, whose id is the job's. */
  const alone = Effect.fnUntraced(
    function* (caller: AgentCaller, contextId: string, statuses: ReadonlyArray<JobStatus> | undefined) {
      const job = yield* jobOf(caller, contextId)
      return job.thread_id === undefined && statuses?.includes(job.status) !== false ? [job] : []
    },
    Effect.catchTag("JobNotFound", () => Effect.succeed([])),
  )

  return Effect.fnUntraced(function* (caller, params) {
    const { contextId = "", pageSize = DEFAULT_PAGE_SIZE, pageToken = "", ...wanted } = yield* decode(params)
    if (wanted.statusTimestampAfter !== undefined) {
      const mistake = "Leave out params.statusTimestampAfter: tasks are listed by contextId and status only."
      return yield* new RpcError({ reason: "INVALID_PARAMS", message: mistake })
    }
    const { agent, user } = caller
    const statuses = statusesOf(wanted.status)
    const filter = { agent_id: agent.id, status: statuses, thread_id: contextId === "" ? undefined : contextId }
    const request = { limit: pageSize, cursor: pageToken === "" ? undefined : pageToken }
    // A database may refuse to compare with text that is no valid id.
    const mayExist = contextId === "" || isThreadId(contextId)
    const page: Page<Job> = mayExist ? yield* jobs.list(user.tenant, filter, request) : { items: [] }
    const total = mayExist ? yield* jobs.count(user.tenant, filter) : 0
    const found = total === 0 && contextId !== "" ? yield* alone(caller, contextId, statuses) : page.items
    const tasks = found.map((job) => (wanted.includeArtifacts === true ? taskOf(job) : withoutArtifacts(job)))
    const totalSize = Math.max(total, tasks.length)
    return { result: { tasks, nextPageToken: page.next_cursor ?? "", pageSize, totalSize } }
  })
}
