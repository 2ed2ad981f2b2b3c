import { DateTime, Duration, Effect, Schema, Stream } from "effect"
import { AccessDenied } from "../../domain/access/identity.ts"
import { Job, JobStep } from "../../domain/jobs/job.ts"
import {
  JobDelta,
  type JobEvent,
  type JobPosition,
  JobStepBegun,
  JobToolCall,
  JobToolResult,
  positionOf,
  START,
} from "../../domain/jobs/jobEvents.ts"
import { Audit } from "../../services/access/Audit.ts"
import { Jobs } from "../../services/jobs/Jobs.ts"
import { makeMayResume } from "../../services/jobs/mayResume.ts"
import { makeCheckMode } from "../../services/jobs/modes/own/OwnModes.ts"
import { Drain } from "../../services/lifecycle/Drain.ts"
import { eventStreamResponse, OPENING, renderEvent } from "../shared/EventStream.ts"
import { GatewayApi } from "../../api/gateway/GatewayApi.ts"
import { CurrentUser } from "../../api/gateway/Authorization.ts"
import { makeCancelJob } from "./cancelJob.ts"
import { makeJobUser } from "./jobUser.ts"
import { makeWaitingPlace } from "./waitingPlace.ts"
import { makeWhileAllowed } from "./whileAllowed.ts"
import { layerHandlers } from "../shared/layerHandlers.ts"

const encodeBegun = Schema.encodeSync(Schema.fromJsonString(JobStepBegun))
const encodeDelta = Schema.encodeSync(Schema.fromJsonString(JobDelta))
const encodeToolCall = Schema.encodeSync(Schema.fromJsonString(JobToolCall))
const encodeToolResult = Schema.encodeSync(Schema.fromJsonString(JobToolResult))
const encodeStep = Schema.encodeSync(Schema.fromJsonString(JobStep))
const encodeJob = Schema.encodeSync(Schema.fromJsonString(Job))

const render = (event: JobEvent): string => {
  switch (event._tag) {
    case "Begun":
      return renderEvent("begun", encodeBegun(event.step), event.id)
    case "Delta":
      return renderEvent("delta", encodeDelta(event.delta), event.id)
    case "ToolCall":
      return renderEvent("tool_call", encodeToolCall(event.call), event.id)
    case "ToolResult":
      return renderEvent("tool_result", encodeToolResult(event.result), event.id)
    case "Step":
      return renderEvent("step", encodeStep(event.step), event.id)
    case "InputRequired":
      return renderEvent("input_required", encodeJob(event.job), event.id)
    case "Ended":
      return renderEvent("ended", encodeJob(event.job), event.id)
  }
}

export const JobsHandlers = layerHandlers(
  GatewayApi,
  "jobs",
  Effect.fn(function* (handlers) {
    const jobs = yield* Jobs
    const audit = yield* Audit
    const cancel = yield* makeCancelJob

    const userOf = makeJobUser(jobs)

    const drain = yield* Drain

    const place = yield* makeWaitingPlace
    const whileAllowed = yield* makeWhileAllowed
    const checkMode = yield* makeCheckMode
    const mayResume = yield* makeMayResume

    const get = Effect.fnUntraced(function* (id: string, seconds: number) {
      const user = yield* userOf(id)
      const { tenant } = user
      if (seconds === 0) return yield* jobs.get(tenant, id)
      yield* place(tenant)
      return yield* whileAllowed.answer(user)(jobs.wait(tenant, id, Duration.seconds(seconds), drain.begun))
    })

    const events = Effect.fnUntraced(function* (id: string, after: JobPosition) {
      const user = yield* userOf(id)
      const { tenant } = user
      // Answers 404 while the status can still be sent.
      yield* jobs.get(tenant, id)
      yield* place(tenant)
      const events = jobs.events(tenant, id, after).pipe(
        Stream.map(render),
        Stream.catch((error) => Stream.succeed(renderEvent("error", JSON.stringify(error.problem)))),
        whileAllowed.stream(user),
      )
      return eventStreamResponse(Stream.concat(Stream.succeed(OPENING), events))
    })

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query: { cursor, limit, ...filter } }) {
        const { key, tenant } = yield* CurrentUser
        yield* checkMode(filter.mode)
        return yield* jobs.list(tenant, { ...filter, agents: key?.agents }, { cursor, limit })
      }),
      summary: Effect.fnUntraced(function* ({ query }) {
        const { key, tenant } = yield* CurrentUser
        if (key?.agents !== undefined) return yield* AccessDenied.limited()
        return yield* jobs.summary(tenant, query.from ?? DateTime.subtract(yield* DateTime.now, { hours: 24 }))
      }),
      get: ({ params, query }) => get(params.id, query.wait ?? 0),
      events: ({ headers: { "last-event-id": last }, params }) =>
        events(params.id, last === undefined ? START : positionOf(last)),
      receipts: ({ params }) =>
        Effect.flatMap(userOf(params.id), ({ tenant }) =>
          Effect.map(jobs.receipts(tenant, params.id), (items) => ({ items })),
        ),
      cancel: Effect.fnUntraced(function* ({ params }) {
        return yield* cancel(yield* userOf(params.id), params.id)
      }),
      input: Effect.fnUntraced(function* ({ params, payload }) {
        const user = yield* userOf(params.id)
        return yield* audit.noted(user, "job.input", jobs.input(user.tenant, params.id, payload), ({ id }) => id)
      }),
      resume: Effect.fnUntraced(function* ({ params }) {
        const user = yield* userOf(params.id)
        yield* mayResume(user, params.id)
        const { id } = yield* audit.noted(user, "job.resume", jobs.resume(user.tenant, params.id), ({ id }) => id)
        // Only after the commit is it known whether the job waits for a place.
        return yield* jobs.get(user.tenant, id)
      }),
      remove: Effect.fnUntraced(function* ({ params }) {
        const user = yield* userOf(params.id)
        yield* audit.noted(user, "job.remove", jobs.remove(user.tenant, params.id), () => params.id)
      }),
    })
  }),
)
