import { Schema } from "effect"
import { type NewSchedule, Schedule as ScheduleSchema } from "../../domain/jobs/schedule.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import { ApiPart, type CallOptions, type Page, type PageOptions, readPage, run } from "./gatewayCalls.ts"

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

  /** Newest first. */
  async list({ signal, ...query }: PageOptions = {}): Promise<Page<Schedule>> {
    return readPage(this.connection.repeatable.schedules.list({ query: withoutUndefined(query) }), signal, encode)
  }

  /** Deletes the schedule. Its jobs stay. */
  async remove(id: string, options?: CallOptions): Promise<void> {
    await run(this.connection.api.schedules.remove({ params: { id } }), options)
  }
}
