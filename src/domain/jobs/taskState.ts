/** States of A2A tasks (A2A 1.0, §4.1.3). */
import type { JobStatus } from "./job.ts"

export const TASK_STATES: Readonly<Record<JobStatus, string>> = {
  queued: "TASK_STATE_SUBMITTED",
  running: "TASK_STATE_WORKING",
  input_required: "TASK_STATE_INPUT_REQUIRED",
  completed: "TASK_STATE_COMPLETED",
  failed: "TASK_STATE_FAILED",
  cancelled: "TASK_STATE_CANCELED",
  timed_out: "TASK_STATE_FAILED",
}
