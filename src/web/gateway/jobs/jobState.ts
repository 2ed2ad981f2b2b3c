/** Merges a job that was read with the steps of its event stream. */
import type { BegunCall, Job, JobEvent, Step } from "../../../client/gateway/GatewayJobs.ts"
import { isEnded } from "../../../domain/jobs/job.ts"

export interface ShownJob {
  readonly job: Job
  readonly streamed: ReadonlyArray<Step>
  /** Steps that the stream reported as begun; some may have finished. */
  readonly begun: ReadonlyArray<BegunCall>
  /** The texts of running steps so far, by their names. */
  readonly texts: ReadonlyMap<string, string>
}

/**
 * `following`: a new event stream begins, from the first step. `read_after_end`: read since the stream ended, so the
 * job may have been resumed.
 */
export type JobUpdate =
  | { readonly type: "read" | "read_after_end"; readonly job: Job }
  | { readonly type: "following" }
  | JobEvent

const shown = (job: Job, streamed: ReadonlyArray<Step> = []): ShownJob => ({
  job,
  streamed,
  begun: [],
  texts: new Map(),
})

/** Applies updates in any order: an older one never undoes a step or the end. */
export const applyUpdate = (state: ShownJob | undefined, update: JobUpdate): ShownJob | undefined => {
  if (update.type === "ended") return shown(update.job, update.job.steps)
  if (update.type === "read_after_end") return shown(update.job)
  if (state === undefined) return "job" in update ? shown(update.job) : undefined
  switch (update.type) {
    case "following":
      return shown(state.job)
    case "begun":
      return { ...state, begun: [...state.begun, update.step] }
    case "tool_call":
      return { ...state, begun: [...state.begun, update.call] }
    case "tool_result":
      // The finished step, which comes later, contains the text too.
      return state
    case "delta": {
      const { at, name, text } = update.delta
      const before = state.texts.get(name)?.slice(0, at) ?? ""
      return { ...state, texts: new Map(state.texts).set(name, before + text) }
    }
    case "step": {
      const texts = new Map(state.texts)
      texts.delete(update.step.name)
      return { ...state, streamed: [...state.streamed, update.step], texts }
    }
    case "input_required":
    case "read":
      return isEnded(state.job.status) ? state : { ...state, job: update.job }
  }
}

/** Returns the steps so far: both lists begin with the first step, so the longer one is newer. */
export const stepsOf = ({ job, streamed }: ShownJob): ReadonlyArray<Step> =>
  streamed.length > job.steps.length ? streamed : job.steps

export const underWay = (state: ShownJob): ReadonlyArray<BegunCall> => {
  if (isEnded(state.job.status)) return []
  const finished = stepsOf(state)
  return state.begun.filter(
    ({ name, started_at }) =>
      !finished.some((step) => step.name === name && Date.parse(step.finished_at) >= Date.parse(started_at)),
  )
}

/** Returns a task as plain text: for a conversation, its last user message. */
export const taskText = (task: Job["task"]): string => {
  if (typeof task === "string") return task
  const last = task.findLast(({ role }) => role === "user") ?? task.at(-1)
  return typeof last?.content === "string" ? last.content : JSON.stringify(last?.content ?? task)
}
