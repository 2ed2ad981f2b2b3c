import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  Job,
  JobKeyRefused,
  JobNotFound,
  JobNotResumable,
  JobReceipt,
  JobStatus,
  JobStep,
  TooManyJobs,
} from "../../domain/jobs/job.ts"
import { JobDelta, JobEventId, JobStepBegun, JobToolCall, JobToolResult } from "../../domain/jobs/jobEvents.ts"
import { InputInvalid, InputNotRequired, JobInput } from "../../domain/jobs/question.ts"
import { ThreadBusy, ThreadId } from "../../domain/jobs/thread.ts"
import { Mode } from "../../domain/jobs/modes.ts"
import { ModeUnknown } from "../../domain/jobs/modes/own.ts"
import { Problem } from "../../domain/problems/problem.ts"
import { CursorInvalid } from "../../domain/operations/storage.ts"
import { BODY_PROBLEMS } from "../problems.ts"
import { NeededRole, RateClass } from "./Authorization.ts"
import { time } from "../../domain/timeText.ts"
import { JobSummary } from "../../domain/jobs/summary.ts"
import { LIST, pageOf, pageQuery } from "./lists.ts"
import { described } from "../described.ts"

const MAX_WAIT_SECONDS = 60
const MAX_QUERY = 200

const params = { id: Schema.String.annotate({ description: "The job's id." }) }

const JobPage = pageOf(Job)

const NoId = Schema.optionalKey(Schema.UndefinedOr(Schema.String))

const Id = Schema.String.annotate({ description: "Resumes the stream after this event." })

const event = <Name extends string, Data extends Schema.Top>(name: Name, data: Data, description: string) =>
  Schema.Struct({ id: Id, event: Schema.Literal(name).annotate({ description }), data: Schema.fromJsonString(data) })

export const JobEventOnWire = Schema.Union([
  event("begun", JobStepBegun, "A call of a model begins."),
  event("delta", JobDelta, "A model writes; the pieces make up the text of its step."),
  event("tool_call", JobToolCall, "A call of a tool begins."),
  event("tool_result", JobToolResult, "A call of a tool returned."),
  event("step", JobStep, "A step finished."),
  event("input_required", Job, "The job waits for a person; its `question` says for what."),
  event("ended", Job, "The job ended; nothing follows."),
  Schema.Struct({
    id: NoId,
    event: Schema.Literal("error").annotate({ description: "The stream broke off and can be resumed." }),
    data: Schema.fromJsonString(Problem),
  }),
])

export class JobsApi extends HttpApiGroup.make("jobs")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: {
        ...pageQuery,
        agent_id: Schema.optionalKey(
          Schema.String.check(Schema.isUUID(7)).annotate({ description: "Only jobs of this agent." }),
        ),
        thread_id: Schema.optionalKey(ThreadId.annotate({ description: "Only jobs in this thread." })),
        status: Schema.optionalKey(JobStatus.annotate({ description: "Only jobs with this status." })),
        mode: Schema.optionalKey(Mode.annotate({ description: "Only jobs of this mode." })),
        from: Schema.optionalKey(time("An RFC 3339 time: only jobs created then or later.")),
        to: Schema.optionalKey(time("An RFC 3339 time: only jobs created before.")),
        q: Schema.optionalKey(
          Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(MAX_QUERY)).annotate({
            description:
              "Only jobs with this text in their task, id or trace id; ASCII letters in any case. A page searches up to 1000 jobs, so it may be empty although more follow.",
          }),
        ),
      },
      success: JobPage,
      error: [CursorInvalid, ModeUnknown],
    }).annotateMerge(described("List jobs", LIST)),
    HttpApiEndpoint.get("summary", "/summary", {
      query: {
        from: Schema.optionalKey(time("An RFC 3339 time from which ended jobs count; default: 24 hours ago.")),
      },
      success: JobSummary,
    }).annotateMerge(
      described("Count jobs", "Open jobs, jobs that ended, and the typical cost of a job by mode and effort."),
    ),
    HttpApiEndpoint.get("get", "/:id", {
      params,
      query: {
        wait: Schema.optionalKey(
          Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: MAX_WAIT_SECONDS })),
        ).annotateKey({ description: `Seconds to wait for the job's end, 0 to ${MAX_WAIT_SECONDS}.` }),
      },
      success: Job,
      error: [JobNotFound],
    }).annotateMerge(described("Read a job", "With `wait`, answers when the job ends or after that many seconds.")),
    HttpApiEndpoint.get("events", "/:id/events", {
      params,
      headers: {
        "last-event-id": Schema.optionalKey(JobEventId).annotateKey({
          description: "The `id` of the last event received; the stream continues after it.",
        }),
      },
      success: HttpApiSchema.StreamSse({ events: JobEventOnWire }),
      error: [JobNotFound],
    }).annotateMerge(
      described(
        "Follow a job",
        "Server-sent events: every step as it begins and as it finishes, with the text of the model as it is written, then the ended job. `Last-Event-ID` resumes after an event, at any gateway.",
      ),
    ),
    HttpApiEndpoint.get("receipts", "/:id/receipts", {
      params,
      success: Schema.Struct({ items: Schema.Array(JobReceipt) }),
      error: [JobNotFound],
    }).annotateMerge(
      described(
        "Get the signed receipts of a job",
        "One item for each step that a sealed proxy answered (PROVIDERn_SEALED_PIN): its receipt, its proof, and the keys that verify them. An item saved as a file can be checked with `sealgate verify`.",
      ),
    ),
    HttpApiEndpoint.post("cancel", "/:id/cancel", {
      params,
      success: Job.pipe(HttpApiSchema.status(202)),
      error: [JobNotFound],
    })
      .annotate(NeededRole, "run")
      .annotateMerge(described("Cancel a job", "Interrupts a call in flight. An ended job stays as it is.")),
    HttpApiEndpoint.post("input", "/:id/input", {
      params,
      payload: JobInput,
      success: Job.pipe(HttpApiSchema.status(202)),
      error: [JobNotFound, InputInvalid, InputNotRequired, ...BODY_PROBLEMS],
    })
      .annotate(NeededRole, "run")
      .annotateMerge(
        described(
          "Answer the question of a job",
          "The job continues with the answer, which must fit the question's `answer_schema`, and with the limits of the key that gave the task. Any caller who may run the agent may answer.",
        ),
      ),
    HttpApiEndpoint.post("resume", "/:id/resume", {
      params,
      success: Job.pipe(HttpApiSchema.status(202)),
      error: [JobNotFound, JobNotResumable, JobKeyRefused, ThreadBusy, TooManyJobs],
    })
      .annotate(RateClass, "execute")
      .annotateMerge(
        described(
          "Resume a job",
          "A job that failed or timed out continues after its finished steps, with the agent as it was when the job was enqueued. Its limits of calls, tokens and cost count from its beginning. Needs the key that gave the task, if that may still run it, or the role `manage`.",
        ),
      ),
    HttpApiEndpoint.delete("remove", "/:id", {
      params,
      success: HttpApiSchema.NoContent,
      error: [JobNotFound],
    }).annotateMerge(
      described(
        "Delete a job",
        "Deletes its task, steps, result and receipts. Interrupts a call in flight. Its costs and labels stay in the ledger and the statistics.",
      ),
    ),
  )
  .prefix("/api/v1/jobs")
  .annotateMerge(OpenApi.annotations({ title: "Jobs", description: "Tasks given to agents." })) {}
