/** Jobs as tasks of A2A, and their events as updates of tasks (A2A 1.0, §4). */
import { DateTime } from "effect"
import { withoutUndefined } from "../../../domain/json/withoutUndefined.ts"
import type { Job } from "../../../domain/jobs/job.ts"
import type { JobEvent } from "../../../domain/jobs/jobEvents.ts"
import { TASK_STATES } from "../../../domain/jobs/taskState.ts"

const ANSWER = "answer"

type ArtifactPart = { readonly text: string } | { readonly data: unknown }

/** The job's thread. A job outside of threads begins one when a message continues it. */
export const contextOf = ({ id, thread_id }: Pick<Job, "id" | "thread_id">): string => thread_id ?? id

const idsOf = (job: Job) => ({ taskId: job.id, contextId: contextOf(job) })

/** The id of the agent's message about its subject, such as the step that asks. */
export const messageIdOf = ({ id }: Job, what: string): string => `${id}-${what}`

const said = (job: Job, what: string, parts: ReadonlyArray<ArtifactPart>) => ({
  messageId: messageIdOf(job, what),
  ...idsOf(job),
  role: "ROLE_AGENT",
  parts,
})

/** The message of a task's status: the agent's question, or the reason of its failure. */
const messageOf = (job: Job) => {
  const { problem, question } = job
  if (question !== undefined) {
    return said(job, question.step, [{ text: question.question }, { data: { answer_schema: question.answer_schema } }])
  }
  if (problem === undefined) return undefined
  const { code, detail, title } = problem
  return said(job, "problem", [{ text: detail === undefined ? title : `${title} ${detail}` }, { data: { code } }])
}

const statusOf = (job: Job) => ({
  state: TASK_STATES[job.status],
  timestamp: DateTime.formatIso(job.finished_at ?? job.question?.asked_at ?? job.started_at ?? job.created_at),
  ...withoutUndefined({ message: messageOf(job) }),
})

/** `metadata` says how it was checked. */
const artifactOf = (result: NonNullable<Job["result"]>, text: string) => {
  const { confidence, mode, verdict } = result
  const data = "output" in result ? [{ data: result.output }] : []
  return { artifactId: ANSWER, parts: [{ text }, ...data], metadata: { mode, verdict, confidence } }
}

export const taskOf = (job: Job) => ({
  id: job.id,
  contextId: contextOf(job),
  status: statusOf(job),
  ...(job.result === undefined ? {} : { artifacts: [artifactOf(job.result, job.result.answer)] }),
})

/** The text of the answer so far, and whether the client knows that the task is being worked on. */
interface Progress {
  readonly isWorking: boolean
  readonly step: string
  readonly text: string
}

export const NO_PROGRESS: Progress = { isWorking: false, step: "", text: "" }

const statusUpdate = (job: Job) => ({ statusUpdate: { ...idsOf(job), status: statusOf(job) } })

const working = (job: Job) => ({ statusUpdate: { ...idsOf(job), status: { state: TASK_STATES.running } } })

/** The end of a job. The answer replaces the text that was sent so far, unless both are the same. */
const endOf = (job: Job, { step, text }: Progress) => {
  if (job.result === undefined) return [statusUpdate(job)]
  const { answer } = job.result
  const append = step !== "" && text === answer
  const artifact = artifactOf(job.result, append ? "" : answer)
  return [{ artifactUpdate: { ...idsOf(job), artifact, append, lastChunk: true } }, statusUpdate(job)]
}

/** The updates of an event. Only in the direct mode is the text of a step a draft of the answer. */
export const updatesOf = (
  job: Job,
  progress: Progress,
  event: JobEvent,
): readonly [Progress, ReadonlyArray<object>] => {
  if (event._tag === "Ended") return [progress, endOf(event.job, progress)]
  if (event._tag === "InputRequired") return [{ ...progress, isWorking: false }, [statusUpdate(event.job)]]
  const now = { ...progress, isWorking: true }
  const begun = progress.isWorking ? [] : [working(job)]
  if (event._tag !== "Delta" || job.mode !== "direct") return [now, begun]
  const { at, name, text } = event.delta
  const append = at > 0 && name === progress.step
  const artifact = { artifactId: ANSWER, parts: [{ text }] }
  const update = { artifactUpdate: { ...idsOf(job), artifact, append, lastChunk: false } }
  return [{ ...now, step: name, text: append ? progress.text + text : text }, [...begun, update]]
}
