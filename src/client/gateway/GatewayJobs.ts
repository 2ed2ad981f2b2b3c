/** Jobs as the gateway's client sees them: read, waited for, followed, cancelled. */
import { Duration, Effect, Schema, Stream } from "effect"
import { isEnded, Job as JobSchema, type JobReceipt, type JobStatus, JobStep } from "../../domain/jobs/job.ts"
import { type JobDelta, JobStepBegun, JobToolCall, type JobToolResult } from "../../domain/jobs/jobEvents.ts"
import type { JobEventOnWire } from "../../api/gateway/JobsApi.ts"
import type { Mode } from "../../domain/jobs/modes.ts"
import { JobSummary as JobSummarySchema } from "../../domain/jobs/summary.ts"
import { WebhookDelivery } from "../../domain/jobs/webhook.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import {
  ApiPart,
  type CallOptions,
  type Connection,
  type Page,
  type PageOptions,
  readPage,
  run,
  toTime,
} from "./gatewayCalls.ts"
import { makePoller } from "./poller.ts"
import { untilAborted } from "./untilAborted.ts"

export type Job = typeof JobSchema.Encoded
export type Delivery = typeof WebhookDelivery.Encoded
export type JobSummary = typeof JobSummarySchema.Encoded
export type Step = typeof JobStep.Encoded
type BegunStep = typeof JobStepBegun.Encoded
type ToolCallBegun = typeof JobToolCall.Encoded
/** A call of a model or of a tool that began. */
export type BegunCall = BegunStep | ToolCallBegun
export type { JobDelta, JobReceipt, JobToolResult }

/**
 * An event of a job. `delta` is a piece of the text that a model writes: `text.slice(0, delta.at) + delta.text` is the text
 * of its step so far. `begun` comes only while the step is running.
 */
export type JobEvent =
  | { readonly type: "begun"; readonly step: BegunStep }
  | { readonly type: "delta"; readonly delta: JobDelta }
  | { readonly type: "tool_call"; readonly call: ToolCallBegun }
  | { readonly type: "tool_result"; readonly result: JobToolResult }
  | { readonly type: "step"; readonly step: Step }
  | { readonly type: "input_required"; readonly job: Job }
  | { readonly type: "ended"; readonly job: Job }

/** How long one poll waits. Below the 30 s after which many reverse proxies give up. */
const POLL = Duration.seconds(25)

export const encodeJob = Schema.encodeSync(JobSchema)
const encodeDelivery = Schema.encodeSync(WebhookDelivery)
const encodeSummary = Schema.encodeSync(JobSummarySchema)
const encodeStep = Schema.encodeSync(JobStep)
const encodeBegun = Schema.encodeSync(JobStepBegun)
const encodeToolCall = Schema.encodeSync(JobToolCall)

/**
 * After a poll was cut off or refused, the next one asks for no wait, so that proxies and the tenant's limit let it
 * pass.
 */
export const untilEnded = Effect.fnUntraced(function* ({ api }: Connection, id: string) {
  const poller = yield* makePoller
  const poll = (query: { readonly wait?: number }) => api.jobs.get({ params: { id }, query })
  for (;;) {
    const waited = yield* poller.ask(poll({ wait: Duration.toSeconds(POLL) }), POLL)
    if (waited !== undefined && isEnded(waited.status)) return waited
    if (waited !== undefined) {
      // A gateway that shuts down answers at once; the pause avoids a flood of requests.
      yield* poller.pause
      continue
    }
    const looked = yield* poller.ask(poll({}))
    if (looked !== undefined && isEnded(looked.status)) return looked
  }
})

export interface JobFilter {
  readonly agent_id?: string
  readonly thread_id?: string
  readonly status?: JobStatus
  readonly mode?: Mode
  readonly from?: string | Date
  readonly to?: string | Date
  readonly q?: string
}

export class JobsClient extends ApiPart {
  async get(id: string, options?: CallOptions): Promise<Job> {
    return encodeJob(await run(this.connection.repeatable.jobs.get({ params: { id }, query: {} }), options))
  }

  /** Newest first. `q` looks for a text in task, id and trace id. */
  async list({ from, signal, to, ...filter }: PageOptions & JobFilter = {}): Promise<Page<Job>> {
    const query = withoutUndefined({ ...filter, from: toTime(from), to: toTime(to) })
    return readPage(this.connection.repeatable.jobs.list({ query }), signal, encodeJob)
  }

  /** Counts the open jobs and those that ended since `from` (default: 24 hours ago), and says what recent ones cost. */
  async summary({ from, signal }: CallOptions & { readonly from?: string | Date } = {}): Promise<JobSummary> {
    const query = withoutUndefined({ from: toTime(from) })
    return encodeSummary(await run(this.connection.repeatable.jobs.summary({ query }), withoutUndefined({ signal })))
  }

  /**
   * Waits until the job has ended, without limit, and returns it. `signal` ends the wait, not the job. Rejects after the
   * gateway has been away for two minutes.
   */
  async wait(id: string, options?: CallOptions): Promise<Job> {
    return encodeJob(await run(untilEnded(this.connection, id), options))
  }

  /** Returns the sealed proxies' receipts for the job's steps. Each one, as JSON, is a file for `sealgate verify`. */
  async receipts(id: string, options?: CallOptions): Promise<ReadonlyArray<JobReceipt>> {
    return (await run(this.connection.repeatable.jobs.receipts({ params: { id } }), options)).items
  }

  /** Returns the job's webhooks and what became of them, oldest first. */
  async deliveries(id: string, options?: CallOptions): Promise<ReadonlyArray<Delivery>> {
    const { items } = await run(this.connection.repeatable.webhooks.deliveries({ params: { id } }), options)
    return items.map((item) => encodeDelivery(item))
  }

  /** Cancels the job. Does nothing if it has ended. */
  async cancel(id: string, options?: CallOptions): Promise<Job> {
    return encodeJob(await run(this.connection.repeatable.jobs.cancel({ params: { id } }), options))
  }

  /**
   * Answers the question of a job that is `input_required`. `step`, taken from the question, ensures that the answer goes to
   * that question. Rejects with `input-invalid` if the answer does not fit its schema.
   */
  async input(
    id: string,
    answer: unknown,
    { step, ...options }: CallOptions & { readonly step?: string } = {},
  ): Promise<Job> {
    const payload = { answer, ...withoutUndefined({ step }) }
    return encodeJob(await run(this.connection.api.jobs.input({ params: { id }, payload }), options))
  }

  /** Takes up a job that failed or timed out after its finished steps. */
  async resume(id: string, options?: CallOptions): Promise<Job> {
    return encodeJob(await run(this.connection.api.jobs.resume({ params: { id } }), options))
  }

  /** Deletes the job with its task, steps, result and receipts. Interrupts it if it has not ended. */
  async remove(id: string, options?: CallOptions): Promise<void> {
    await run(this.connection.api.jobs.remove({ params: { id } }), options)
  }

  /**
   * Streams every step as it begins and finishes, the models' texts as they are written, then the ended job. Resumes a cut
   * stream after its last event. Rejects after the gateway has been away for two minutes.
   */
  async *events(id: string, options?: CallOptions): AsyncGenerator<JobEvent, void> {
    let last: string | undefined
    const poller = await run(makePoller, options)
    for (;;) {
      const headers = last === undefined ? {} : { "last-event-id": last }
      const stream = await run(poller.ask(this.connection.api.jobs.events({ params: { id }, headers })), options)
      if (stream === undefined) continue
      let news = false
      // After a cut or an `error` event, the next stream resumes after the last event.
      const events = Stream.toAsyncIterable(Stream.catch(stream, () => Stream.empty))
      for await (const event of untilAborted(events, options?.signal)) {
        if (event.event === "error") break
        news = true
        last = event.id
        if (event.event === "ended") return yield { type: "ended", job: encodeJob(event.data) }
        yield toEvent(event)
      }
      await run(poller.noteReached, options)
      if (!news) await run(poller.pause, options)
    }
  }
}

/** An event before the end. */
const toEvent = (
  event: Exclude<typeof JobEventOnWire.Type, { readonly event: "error" | "ended" }>,
): Exclude<JobEvent, { readonly type: "ended" }> => {
  switch (event.event) {
    case "begun":
      return { type: "begun", step: encodeBegun(event.data) }
    case "delta":
      return { type: "delta", delta: event.data }
    case "tool_call":
      return { type: "tool_call", call: encodeToolCall(event.data) }
    case "tool_result":
      return { type: "tool_result", result: event.data }
    case "step":
      return { type: "step", step: encodeStep(event.data) }
    case "input_required":
      return { type: "input_required", job: encodeJob(event.data) }
  }
}

/** A started job. `job` is its last known state. */
export class JobHandle {
  private readonly jobs: JobsClient
  private seen: Job
  constructor(jobs: JobsClient, job: Job) {
    this.jobs = jobs
    this.seen = job
  }

  get id(): string {
    return this.seen.id
  }

  get job(): Job {
    return this.seen
  }

  /** Waits until the job has ended and returns it. */
  async wait(options?: CallOptions): Promise<Job> {
    this.seen = await this.jobs.wait(this.id, options)
    return this.seen
  }

  async cancel(options?: CallOptions): Promise<Job> {
    this.seen = await this.jobs.cancel(this.id, options)
    return this.seen
  }

  async *events(options?: CallOptions): AsyncGenerator<JobEvent, void> {
    for await (const event of this.jobs.events(this.id, options)) {
      if (event.type === "ended") this.seen = event.job
      yield event
    }
  }
}
