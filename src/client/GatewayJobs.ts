/** Jobs as the gateway's client sees them: read, waited for, followed, cancelled. */
import { Effect, Schedule, Schema, Stream } from "effect"
import { isEnded, Job as JobSchema, type JobStatus, JobStep } from "../domain/job.ts"
import { Unreachable } from "./errors.ts"
import { type CallOptions, type Connection, given, mapPage, type Page, type PageOptions, run } from "./gatewayCalls.ts"

export type Job = typeof JobSchema.Encoded
export type Step = typeof JobStep.Encoded

/** What happens to a job: steps as they finish, then its end. */
export type JobEvent = { readonly type: "step"; readonly step: Step } | { readonly type: "ended"; readonly job: Job }

/** How long one poll waits, in seconds; the most that the gateway allows. */
const POLL_SECONDS = 60
/** Polls begin at least this far apart. */
const POLL_INTERVAL = "1 second"
/** How often in a row an event stream is taken up without anything new, and the first pause in between. */
const MAX_FRUITLESS_STREAMS = 5
const PAUSE_MS = 500

export const encodeJob = Schema.encodeSync(JobSchema)
const encodeStep = Schema.encodeSync(JobStep)

export class JobsClient {
  private readonly connection: Connection
  constructor(connection: Connection) {
    this.connection = connection
  }

  async get(id: string, options?: CallOptions): Promise<Job> {
    return encodeJob(await run(this.connection.repeatable.jobs.get({ params: { id }, query: {} }), options))
  }

  /** Newest first. */
  async list({
    signal,
    ...query
  }: PageOptions & { readonly agent_id?: string; readonly status?: JobStatus } = {}): Promise<Page<Job>> {
    const page = await run(this.connection.repeatable.jobs.list({ query: given(query) }), given({ signal }))
    return mapPage(page, encodeJob)
  }

  /** The job once it has ended, however long that takes; `signal` ends the waiting, not the job. */
  async wait(id: string, options?: CallOptions): Promise<Job> {
    const poll = this.connection.repeatable.jobs.get({ params: { id }, query: { wait: POLL_SECONDS } })
    // A gateway that shuts down answers at once; the interval keeps that from becoming a stream of requests.
    const ended = Effect.repeat(poll, { until: (job) => isEnded(job.status), schedule: Schedule.fixed(POLL_INTERVAL) })
    return encodeJob(await run(ended, options))
  }

  /** Ends the job; one that has ended stays as it is. */
  async cancel(id: string, options?: CallOptions): Promise<Job> {
    return encodeJob(await run(this.connection.repeatable.jobs.cancel({ params: { id } }), options))
  }

  /** Every step as it finishes, then the ended job. A stream that is cut is taken up where it broke off. */
  async *events(id: string, options?: CallOptions): AsyncGenerator<JobEvent, void> {
    let last: string | undefined
    let fruitless = 0
    while (fruitless < MAX_FRUITLESS_STREAMS) {
      if (fruitless > 0) await run(Effect.sleep(PAUSE_MS * 2 ** (fruitless - 1)), options)
      fruitless += 1
      const headers = last === undefined ? {} : { "last-event-id": Number(last) }
      const stream = await run(this.connection.repeatable.jobs.events({ params: { id }, headers }), options)
      // A cut or an `error` event ends this stream; the next one goes on after the last event.
      const events = Stream.toAsyncIterable(Stream.catch(stream, () => Stream.empty))
      for await (const event of untilAborted(events, options?.signal)) {
        if (event.event === "error") break
        fruitless = 0
        last = event.id
        if (event.event === "step") yield { type: "step", step: encodeStep(event.data) }
        else return yield { type: "ended", job: encodeJob(event.data) }
      }
    }
    throw new Unreachable("The gateway's event stream broke off again and again.")
  }
}

/** Hangs up when the signal says so. */
async function* untilAborted<A>(events: AsyncIterable<A>, signal: AbortSignal | undefined): AsyncGenerator<A, void> {
  const iterator = events[Symbol.asyncIterator]()
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  // Nobody may be listening when it comes.
  aborted.catch(() => undefined)
  const abort = () => reject(signal?.reason)
  signal?.addEventListener("abort", abort, { once: true })
  try {
    while (true) {
      signal?.throwIfAborted()
      const next = await Promise.race([iterator.next(), aborted])
      if (next.done === true) return
      yield next.value
    }
  } finally {
    signal?.removeEventListener("abort", abort)
    await iterator.return?.()
  }
}

/** A job that was started. `job` is it as it was last seen. */
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

  /** The job once it has ended. */
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
