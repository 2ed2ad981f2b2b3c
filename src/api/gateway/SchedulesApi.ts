import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { AgentNotFound } from "../../domain/jobs/agent.ts"
import { ModeUnknown } from "../../domain/jobs/modes/own.ts"
import { NewSchedule, Schedule, ScheduleNotFound, TooManySchedules } from "../../domain/jobs/schedule.ts"
import { WebhookSecretMissing } from "../../domain/jobs/webhook.ts"
import { CursorInvalid } from "../../domain/operations/storage.ts"
import { described } from "../described.ts"
import { BODY_PROBLEMS } from "../problems.ts"
import { LIST, pageOf, pageQuery } from "./lists.ts"

const params = { id: Schema.String.annotate({ description: "The schedule's id." }) }

export class SchedulesApi extends HttpApiGroup.make("schedules")
  .add(
    HttpApiEndpoint.post("create", "/", {
      payload: NewSchedule,
      success: Schedule.pipe(HttpApiSchema.status(201)),
      error: [AgentNotFound, ModeUnknown, TooManySchedules, WebhookSecretMissing, ...BODY_PROBLEMS],
    }).annotateMerge(
      described(
        "Create a schedule",
        "Gives the agent `request` as a job whenever `cron` matches. Times missed while no gateway ran give one job. Its jobs have the limits that the caller's key has at that time; without a key, no limits.",
      ),
    ),
    HttpApiEndpoint.get("list", "/", {
      query: pageQuery,
      success: pageOf(Schedule),
      error: [CursorInvalid],
    }).annotateMerge(described("List schedules", LIST)),
    HttpApiEndpoint.get("get", "/:id", {
      params,
      success: Schedule,
      error: [ScheduleNotFound],
    }).annotateMerge(described("Read a schedule", "With its next time, and what the last one gave.")),
    HttpApiEndpoint.delete("remove", "/:id", {
      params,
      success: HttpApiSchema.NoContent,
      error: [ScheduleNotFound],
    }).annotateMerge(described("Delete a schedule", "Its jobs stay.")),
  )
  .prefix("/api/v1/schedules")
  .annotateMerge(OpenApi.annotations({ title: "Schedules", description: "Tasks at times of the calendar." })) {}
