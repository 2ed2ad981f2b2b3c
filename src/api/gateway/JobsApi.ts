import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { JobNotFound, JobReceipt, JobStatus, JobStep, JobStepBegun } from "../../domain/jobs/job.ts"
import { Problem } from "../../domain/problems/problem.ts"
import { CursorInvalid, StorageUnavailable } from "../../domain/operations/storage.ts"
import { Refusals } from "../problems.ts"
import { Authorization } from "./Authorization.ts"
import { LIST, pageOf, pageQuery } from "./lists.ts"
import { Job } from "./resources.ts"

/** The longest that a poll may wait, in seconds. */
const MAX_WAIT_SECONDS = 60

const params = { id: Schema.String }

const JobPage = pageOf(Job)

const NoId = Schema.optionalKey(Schema.UndefinedOr(Schema.String))

/**
 * `begun`: a step begins; it has no `id`, and is not told again. `step`: a step finished. `ended`: the job ended; nothing follows. `error`: the stream broke off and can be resumed.
 * `id` resumes the stream after this event.
 */
const JobEventOnWire = Schema.Union([
  Schema.Struct({ id: Schema.String, event: Schema.Literal("step"), data: Schema.fromJsonString(JobStep) }),
  Schema.Struct({ id: Schema.String, event: Schema.Literal("ended"), data: Schema.fromJsonString(Job) }),
  Schema.Struct({ id: NoId, event: Schema.Literal("begun"), data: Schema.fromJsonString(JobStepBegun) }),
  Schema.Struct({ id: NoId, event: Schema.Literal("error"), data: Schema.fromJsonString(Problem) }),
])

export class JobsApi extends HttpApiGroup.make("jobs")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: {
        ...pageQuery,
        agent_id: Schema.optionalKey(Schema.String.check(Schema.isUUID(7))),
        status: Schema.optionalKey(JobStatus),
      },
      success: JobPage,
      error: [CursorInvalid, StorageUnavailable],
    }).annotateMerge(OpenApi.annotations({ summary: "List jobs", description: LIST })),
    HttpApiEndpoint.get("get", "/:id", {
      params,
      query: {
        wait: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: MAX_WAIT_SECONDS }))),
      },
      success: Job,
      error: [JobNotFound, StorageUnavailable],
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Read a job",
        description: "With `wait`, answers when the job ends, or after that many seconds with the job as it is.",
      }),
    ),
    HttpApiEndpoint.get("events", "/:id/events", {
      params,
      headers: {
        "last-event-id": Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))),
      },
      success: HttpApiSchema.StreamSse({ events: JobEventOnWire }),
      error: [JobNotFound, StorageUnavailable],
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Follow a job",
        description:
          "Server-sent events: every step as it begins and as it finishes, then the ended job. `Last-Event-ID` resumes after an event.",
      }),
    ),
    HttpApiEndpoint.get("receipts", "/:id/receipts", {
      params,
      success: Schema.Struct({ items: Schema.Array(JobReceipt) }),
      error: [JobNotFound, StorageUnavailable],
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Get the signed receipts of a job",
        description:
          "For each step that a sealed proxy answered (PROVIDERn_SEALED_PIN): its receipt, its proof, and the keys that verify them. Each item by itself is a file for `sealgate verify`.",
      }),
    ),
    HttpApiEndpoint.post("cancel", "/:id/cancel", {
      params,
      success: Job.pipe(HttpApiSchema.status(202)),
      error: [JobNotFound, StorageUnavailable],
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Cancel a job",
        description: "Interrupts a call in flight. A job that has ended stays as it is.",
      }),
    ),
  )
  .middleware(Authorization)
  .middleware(Refusals)
  .prefix("/api/v1/jobs")
  .annotateMerge(OpenApi.annotations({ title: "Jobs", description: "Jobs are the tasks that agents were given." })) {}
