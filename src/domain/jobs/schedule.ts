/** Schedules: tasks that an agent gets at times of the calendar. */
import { Cron, Result, Schema } from "effect"
import { KeyId } from "../access/keys.ts"
import { Problem } from "../problems/problem.ts"
import { Refusal } from "../problems/refusal.ts"
import { ExecuteRequest, JobId } from "./job.ts"

export const MAX_SCHEDULES = 100

/** UUIDv7, so ids sort by creation. */
export const ScheduleId = Schema.String.check(Schema.isUUID(7))

const Time = Schema.DateTimeUtcFromString

const plan = {
  agent_id: Schema.String.check(Schema.isUUID(7)),
  cron: Schema.String.check(
    Schema.isMaxLength(100),
    Schema.isPattern(/^\S+(?: \S+){4}$/, { expected: "five fields of cron" }),
  ).annotate({
    description: "Minute, hour, day of the month, month and day of the week, such as `0 7 * * 1-5`.",
  }),
  time_zone: Schema.optionalKey(
    Schema.String.check(Schema.isMaxLength(64)).annotate({
      description: "The time zone of `cron`, such as Europe/Oslo; default: UTC.",
    }),
  ),
  request: ExecuteRequest,
}

const Key = KeyId.annotate({
  description: "The key that made it, whose limits bind its jobs; absent if it was a token.",
})

type Plan = Pick<Schema.Struct.Type<typeof plan>, "cron" | "time_zone">

/** The most days that each month can have. */
const DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/**
 * Whether any day matches: searching for 31 February in a time zone takes a second. If both fields limit the days, either
 * may match; but with a step (an asterisk and a slash) both would have to.
 */
const hasDays = ({ days, months, weekdays }: Cron.Cron, [, , day, , weekday]: ReadonlyArray<string>): boolean =>
  days.size > 0 && weekdays.size > 0
    ? day?.startsWith("*") === false && weekday?.startsWith("*") === false
    : days.size === 0 ||
      DAYS.some(
        (length, month) => (months.size === 0 || months.has(month + 1)) && [...days].some((each) => each <= length),
      )

/** The first time after `after`, both in milliseconds since the epoch; `undefined` if there is none or the plan is invalid. */
export const nextTime = ({ cron, time_zone = "UTC" }: Plan, after: number): number | undefined => {
  const fields = cron.split(" ")
  // In the hour repeated at the end of summer time, schedules that run every hour run twice, others only the first
  // time, as in Vixie cron.
  const onDstOverlap = fields[1]?.startsWith("*") === true ? "both" : "earlier"
  const parsed = Result.getOrUndefined(Cron.parse(cron, time_zone, { onDstOverlap }))
  if (parsed === undefined || !hasDays(parsed, fields)) return undefined
  try {
    return Cron.next(parsed, after).getTime()
  } catch {
    // `Cron.next` throws after thousands of days without a match.
    return undefined
  }
}

/** The fields of `cron`, with their values. */
const FIELDS = [
  ["minute", "from 0 to 59"],
  ["hour", "from 0 to 23"],
  ["day of the month", "from 1 to 31"],
  ["month", "from 1 to 12 or jan to dec"],
  ["day of the week", "from 0 to 7 or sun to sat"],
] as const

/** The first field that is wrong by itself. */
const wrongField = (cron: string) => {
  const given = cron.split(" ")
  return FIELDS.find((_, i) => Result.isFailure(Cron.parse(FIELDS.map((_, j) => (i === j ? given[j] : "*")).join(" "))))
}

/** Finds the mistake in a plan that never comes due. Searching from any time shows it, because the calendar repeats. */
const mistakeIn = (given: Plan) => {
  if (nextTime(given, Date.UTC(2026)) !== undefined) return undefined
  const { cron, time_zone } = given
  const wrong = wrongField(cron)
  if (wrong !== undefined) {
    const [name, values] = wrong
    return { path: ["cron"], issue: `the ${name} is not ${values}, nor a list, range or step of those` }
  }
  if (Result.isFailure(Cron.parse(cron, time_zone)))
    return { path: ["time_zone"], issue: "give one such as Europe/Oslo" }
  return { path: ["cron"], issue: "no time matches; if both kinds of day are limited, use no step for either" }
}

export const NewSchedule = Schema.Struct(plan).check(Schema.makeFilter(mistakeIn))
export type NewSchedule = typeof NewSchedule.Type

/** `last_job_id` is its newest job, which may be deleted; `last_problem` says why the last time gave none. */
export const Schedule = Schema.Struct({
  id: ScheduleId,
  ...plan,
  key_id: Schema.optionalKey(Key),
  next_at: Time,
  last_job_id: Schema.optionalKey(JobId),
  last_problem: Schema.optionalKey(Problem),
  created_at: Time,
}).annotate({ identifier: "Schedule" })
export type Schedule = typeof Schedule.Type

export class ScheduleNotFound extends Refusal<ScheduleNotFound>()("ScheduleNotFound", {
  code: "schedule-not-found",
  status: 404,
  title: "There is no such schedule.",
}) {}

export class TooManySchedules extends Refusal<TooManySchedules>()("TooManySchedules", {
  code: "too-many-schedules",
  status: 409,
  title: `A tenant has at most ${MAX_SCHEDULES} schedules; delete one that is not needed.`,
}) {}
