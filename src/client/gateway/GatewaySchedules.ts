/** Schedules, as the gateway's client sees them. */
import { Schema } from "effect"
import { type NewSchedule, Schedule as ScheduleSchema } from "../../domain/jobs/schedule.ts"
import { ApiPart, type CallOptions, run } from "./gatewayCalls.ts"

/** A task that an agent gets at times of the calendar. */
export type Schedule = typeof ScheduleSchema.Encoded

const encode = Schema.encodeSync(ScheduleSchema)

export class SchedulesClient extends ApiPart {
  async create(payload: NewSchedule, options?: CallOptions): Promise<Schedule> {
    return encode(await run(this.connection.api.schedules.create({ payload }), options))
  }

  async get(id: string, options?: CallOptions): Promise<Schedule> {
    return encode(await run(this.connection.repeatable.schedules.get({ params: { id } }), options))
  }

  /** All, the newest first. */
  async list(options?: CallOptions): Promise<ReadonlyArray<Schedule>> {
    return (await run(this.connection.repeatable.schedules.list({}), options)).items.map((item) => encode(item))
  }

  /** Deletes the schedule. Its jobs stay. */
  async remove(id: string, options?: CallOptions): Promise<void> {
    await run(this.connection.api.schedules.remove({ params: { id } }), options)
  }
}
