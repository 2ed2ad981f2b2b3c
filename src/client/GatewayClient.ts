/**
 * The client of the agent gateway, for Node and browsers: promises over the client that is derived from the gateway's
 * API. What it takes and gives is what is on the wire: members in snake_case, times as RFC 3339 text.
 */
import { Cause, DateTime, Effect, Exit, Option, Schedule, Schema, Stream } from "effect"
import { HttpClient, HttpClientError } from "effect/http"
import { Agent as AgentSchema, agentETag, type CreateAgent, type UpdateAgent } from "../domain/agent.ts"
import {
  type ExecuteRequest,
  IdempotencyKey,
  isEnded,
  Job as JobSchema,
  type JobStatus,
  JobStep,
} from "../domain/job.ts"
import { Problem } from "../domain/problem.ts"
import { RoutingSettings as RoutingSettingsSchema, type RoutingSettingsInput } from "../domain/routing.ts"
import { routingETag } from "../domain/routingChecks.ts"
import { RoutingStatsReport } from "../domain/savings.ts"
import { GatewayProblem, Unreachable } from "./errors.ts"
import { type GatewayClientOptions, makeGatewayApi } from "./GatewayClientService.ts"

export type Agent = typeof AgentSchema.Encoded
export type Job = typeof JobSchema.Encoded
export type Step = typeof JobStep.Encoded
export type RoutingSettings = typeof RoutingSettingsSchema.Encoded
export type RoutingStats = typeof RoutingStatsReport.Encoded

export interface Page<A> {
  readonly items: ReadonlyArray<A>
  /** Gives the next page, as `cursor`; absent on the last one. */
  readonly next_cursor?: string
}

export interface PageOptions extends CallOptions {
  /** 1 to 100; default 20. */
  readonly limit?: number
  readonly cursor?: string
}

export interface CallOptions {
  readonly signal?: AbortSignal
}

/** What must still be the case for a change to be made; without it the change is made in any case. */
export interface Precondition extends CallOptions {
  /** The version that the change was thought up for. */
  readonly ifVersion?: number
}

/** What happens to a job: steps as they finish, then its end. */
export type JobEvent = { readonly type: "step"; readonly step: Step } | { readonly type: "ended"; readonly job: Job }

/** How long one poll waits, in seconds; the most that the gateway allows. */
const POLL_SECONDS = 60
/** How often a request that may be repeated is, when the gateway is away or asks for patience. */
const RETRIES = 2
const BACK_OFF = Schedule.exponential("250 millis")
/** How often an event stream is taken up again without anything new in between. */
const MAX_FRUITLESS_STREAMS = 5

const encodeAgent = Schema.encodeSync(AgentSchema)
const encodeJob = Schema.encodeSync(JobSchema)
const encodeStep = Schema.encodeSync(JobStep)
const encodeSettings = Schema.encodeSync(RoutingSettingsSchema)
const encodeStats = Schema.encodeSync(RoutingStatsReport)
const isProblem = Schema.is(Problem)

const toError = (cause: Cause.Cause<unknown>, signal: AbortSignal | undefined): unknown => {
  if (signal?.aborted === true) return signal.reason
  const error = Option.getOrElse(Cause.findErrorOption(cause), () => Cause.squash(cause))
  if (isProblem(error)) return new GatewayProblem(error)
  return HttpClientError.isHttpClientError(error)
    ? new Unreachable("The gateway did not give an answer that this client understands.", { cause: error })
    : error
}

const run = async <A, E>(effect: Effect.Effect<A, E>, options?: CallOptions): Promise<A> => {
  const exit = await Effect.runPromiseExit(effect, options)
  if (Exit.isSuccess(exit)) return exit.value
  throw toError(exit.cause, options?.signal)
}

const given = <A extends object>(options: A | undefined): { readonly [K in keyof A]: Exclude<A[K], undefined> } =>
  // What is `undefined` is left out, which is what the type says.
  Object.fromEntries(Object.entries(options ?? {}).filter(([, value]) => value !== undefined)) as never

const pageOf = <A, B>(
  page: { readonly items: ReadonlyArray<A>; readonly next_cursor?: string },
  f: (item: A) => B,
) => ({
  ...page,
  items: page.items.map(f),
})

const ifMatch = (etag: string | undefined) => (etag === undefined ? {} : { "if-match": etag })
const versionTag = (options: Precondition | undefined, tag: (of: { readonly version: number }) => string) =>
  ifMatch(options?.ifVersion === undefined ? undefined : tag({ version: options.ifVersion }))

const toTime = (time: string | Date | undefined) => (time === undefined ? undefined : DateTime.makeUnsafe(time))

const connect = (options: GatewayClientOptions) => {
  const repeat = (client: HttpClient.HttpClient) =>
    HttpClient.retryTransient(client, { schedule: BACK_OFF, times: RETRIES })
  return Effect.runSync(
    Effect.all({
      api: makeGatewayApi(options),
      /** For requests that do the same when they are repeated. */
      repeatable: makeGatewayApi(options, repeat),
    }),
  )
}
type Connection = ReturnType<typeof connect>

class AgentsClient {
  private readonly connection: Connection
  private readonly jobs: JobsClient
  constructor(connection: Connection, jobs: JobsClient) {
    this.connection = connection
    this.jobs = jobs
  }

  async create(payload: CreateAgent, options?: CallOptions): Promise<Agent> {
    const { body } = await run(this.connection.api.agents.create({ payload }), options)
    return encodeAgent(body)
  }

  async get(id: string, options?: CallOptions): Promise<Agent> {
    const { body } = await run(this.connection.repeatable.agents.get({ params: { id } }), options)
    return encodeAgent(body)
  }

  /** Newest first. */
  async list({ signal, ...query }: PageOptions = {}): Promise<Page<Agent>> {
    const page = await run(this.connection.repeatable.agents.list({ query: given(query) }), given({ signal }))
    return pageOf(page, encodeAgent)
  }

  /** Members given replace the agent's, `null` removes an optional one, `limits` are merged. */
  async update(id: string, payload: UpdateAgent, options?: Precondition): Promise<Agent> {
    const headers = versionTag(options, agentETag)
    const { body } = await run(this.connection.api.agents.update({ params: { id }, headers, payload }), options)
    return encodeAgent(body)
  }

  /** Its jobs stay readable. */
  async remove(id: string, options?: Precondition): Promise<void> {
    const headers = versionTag(options, agentETag)
    await run(this.connection.api.agents.remove({ params: { id }, headers }), options)
  }

  /**
   * Gives the agent a task. Without an `idempotencyKey` one is made up, so that repeating the request after a lost
   * answer does not repeat the work.
   */
  async execute(
    id: string,
    payload: ExecuteRequest,
    options?: CallOptions & { readonly idempotencyKey?: string },
  ): Promise<JobHandle> {
    const key = IdempotencyKey.make(options?.idempotencyKey ?? crypto.randomUUID())
    const { body } = await run(
      this.connection.repeatable.agents.execute({ params: { id }, headers: { "idempotency-key": key }, payload }),
      options,
    )
    return new JobHandle(this.jobs, encodeJob(body))
  }
}

class JobsClient {
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
    return pageOf(page, encodeJob)
  }

  /** The job once it has ended, however long that takes; `signal` ends the waiting, not the job. */
  async wait(id: string, options?: CallOptions): Promise<Job> {
    while (true) {
      const job = await run(
        this.connection.repeatable.jobs.get({ params: { id }, query: { wait: POLL_SECONDS } }),
        options,
      )
      if (isEnded(job.status)) return encodeJob(job)
    }
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
  const aborted = new Promise<never>((_, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true })
  })
  // Nobody may be listening when it comes.
  aborted.catch(() => undefined)
  try {
    while (true) {
      signal?.throwIfAborted()
      const next = await Promise.race([iterator.next(), aborted])
      if (next.done === true) return
      yield next.value
    }
  } finally {
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

class RoutingClient {
  private readonly connection: Connection
  constructor(connection: Connection) {
    this.connection = connection
  }

  /** What routing saved; by default in the last 24 hours, for the own tenant. `scope: "all"` is for administrators. */
  async stats({
    from,
    scope,
    signal,
    to,
  }: CallOptions & {
    readonly from?: string | Date
    readonly to?: string | Date
    readonly scope?: "tenant" | "all"
  } = {}): Promise<RoutingStats> {
    const query = given({ from: toTime(from), to: toTime(to), scope })
    return encodeStats(await run(this.connection.repeatable.routing.stats({ query }), given({ signal })))
  }

  async config(options?: CallOptions): Promise<RoutingSettings> {
    const { body } = await run(this.connection.repeatable.routing.config({}), options)
    return encodeSettings(body)
  }

  async replaceConfig(payload: RoutingSettingsInput, options?: Precondition): Promise<RoutingSettings> {
    const headers = versionTag(options, routingETag)
    const { body } = await run(this.connection.api.routing.putConfig({ headers, payload }), options)
    return encodeSettings(body)
  }
}

/**
 * Agents, their jobs and the routing of a gateway. A refusal rejects with `GatewayProblem`, no answer with
 * `Unreachable`.
 *
 * @example
 * const gateway = new GatewayClient({ baseUrl: "http://localhost:3000", token: process.env.TOKEN })
 * const agent = await gateway.agents.create({ name: "reviewer" })
 * const job = await gateway.agents.execute(agent.id, { task: "Is 391 a prime?", mode: "verified" })
 * const { result } = await job.wait()
 */
export class GatewayClient {
  readonly agents: AgentsClient
  readonly jobs: JobsClient
  readonly routing: RoutingClient

  constructor(options: GatewayClientOptions) {
    const connection = connect(options)
    this.jobs = new JobsClient(connection)
    this.agents = new AgentsClient(connection, this.jobs)
    this.routing = new RoutingClient(connection)
  }
}
