/** Rows of schedules. */
import { Schema } from "effect"
import { KeyId } from "../../domain/access/keys.ts"
import { AgentId, TenantId } from "../../domain/jobs/agent.ts"
import { ExecuteRequest, JobId } from "../../domain/jobs/job.ts"
import { type NewSchedule, nextTime, ScheduleId } from "../../domain/jobs/schedule.ts"
import { Problem } from "../../domain/problems/problem.ts"
import { decodeRows, storedJson } from "../storedRows.ts"

export const ScheduleRow = Schema.Struct({
  id: ScheduleId,
  tenant: TenantId,
  agent_id: AgentId,
  key_id: Schema.NullOr(KeyId),
  cron: Schema.String,
  time_zone: Schema.NullOr(Schema.String),
  request: Schema.fromJsonString(ExecuteRequest),
  next_at: Schema.Int,
  last_job_id: Schema.NullOr(JobId),
  last_problem: Schema.NullOr(storedJson(Problem)),
  created_at: Schema.DateTimeUtcFromMillis,
})
export type ScheduleRow = typeof ScheduleRow.Type
export const decodeSchedules = decodeRows("schedules", ScheduleRow)
export const SCHEDULE_COLUMNS = Object.keys(ScheduleRow.fields).join(", ")
export const planOf = ({ cron, time_zone }: ScheduleRow) => ({ cron, ...(time_zone === null ? {} : { time_zone }) })

/** The year 9999, later than every time that occurs. */
const NEVER = 253_402_300_799_000

/** When a schedule's next job is enqueued after a time, both in milliseconds since the epoch. */
export const nextAt = (plan: Pick<NewSchedule, "cron" | "time_zone">, after: number): number =>
  nextTime(plan, after) ?? NEVER
