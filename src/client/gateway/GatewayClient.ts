/**
 * The client of the agent gateway, for Node and browsers: promises over the client derived from the gateway's API. Inputs and
 * results have the form of the wire: members in snake_case, times as RFC 3339 text.
 */
import { Schema, Stream } from "effect"
import { SecureRandom } from "effect/crypto"
import { Agent as AgentSchema, agentETag, type CreateAgent, type UpdateAgent } from "../../domain/jobs/agent.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import type { Interval } from "../../domain/routing/intervals.ts"
import { type ExecuteRequest, IdempotencyKey } from "../../domain/jobs/job.ts"
import { ProviderHealthReport } from "../../domain/routing/health.ts"
import { PricedRoutingSettings, type RoutingSettingsInput } from "../../domain/routing/routing.ts"
import { routingETag } from "../../domain/routing/routingChecks.ts"
import { RoutingStatsReport } from "../../domain/routing/savings.ts"
import { SpendReport } from "../../domain/routing/spend.ts"
import {
  ApiPart,
  type CallOptions,
  connect,
  type Connection,
  ifVersion,
  type Page,
  type PageOptions,
  type Precondition,
  readPage,
  run,
  toTime,
  untilNotInFlight,
} from "./gatewayCalls.ts"
import type { GatewayClientOptions } from "./GatewayClientService.ts"
import { BudgetsClient } from "./GatewayBudgets.ts"
import { encodeJob, JobHandle, JobsClient } from "./GatewayJobs.ts"
import { AuditClient, KeysClient } from "./GatewayKeys.ts"
import { SchedulesClient } from "./GatewaySchedules.ts"
import { SecretsClient } from "./GatewaySecrets.ts"
import { ThreadsClient } from "./GatewayThreads.ts"
import { untilAborted } from "./untilAborted.ts"

export type Agent = typeof AgentSchema.Encoded
export type RoutingSettings = typeof PricedRoutingSettings.Encoded
export type ProviderHealth = (typeof ProviderHealthReport.Encoded)["items"][number]
export type RoutingStats = typeof RoutingStatsReport.Encoded
export type Spend = typeof SpendReport.Encoded

const encodeAgent = Schema.encodeSync(AgentSchema)
const encodeSettings = Schema.encodeSync(PricedRoutingSettings)
const encodeStats = Schema.encodeSync(RoutingStatsReport)
const encodeSpend = Schema.encodeSync(SpendReport)

const encodeHealth = Schema.encodeSync(ProviderHealthReport)

class AgentsClient extends ApiPart {
  private readonly jobs: JobsClient
  constructor(connection: Connection, jobs: JobsClient) {
    super(connection)
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
    return readPage(this.connection.repeatable.agents.list({ query: withoutUndefined(query) }), signal, encodeAgent)
  }

  /** Replaces the given members; `null` removes an optional one. `limits` are merged in the same way. */
  async update(id: string, payload: UpdateAgent, options?: Precondition): Promise<Agent> {
    const headers = ifVersion(options, agentETag)
    const { body } = await run(this.connection.api.agents.update({ params: { id }, headers, payload }), options)
    return encodeAgent(body)
  }

  /** Deletes the agent. Its jobs stay readable. */
  async remove(id: string, options?: Precondition): Promise<void> {
    const headers = ifVersion(options, agentETag)
    await run(this.connection.api.agents.remove({ params: { id }, headers }), options)
  }

  /** Gives the agent a task. `idempotencyKey` (default: random) keeps retries from repeating the work. */
  async execute(
    id: string,
    payload: ExecuteRequest,
    options?: CallOptions & { readonly idempotencyKey?: string },
  ): Promise<JobHandle> {
    const key = IdempotencyKey.make(options?.idempotencyKey ?? SecureRandom.uuidV4Unsafe())
    const headers = { "idempotency-key": key }
    const request = this.connection.repeatable.agents.execute({ params: { id }, headers, payload })
    const { body } = await run(untilNotInFlight(request), options)
    return new JobHandle(this.jobs, encodeJob(body))
  }
}

class RoutingClient extends ApiPart {
  /**
   * Returns routing's savings; default: of the caller's tenant in the last 24 hours. `scope: "all"` is for administrators.
   * `interval` adds `over_time`, per UTC hour or day.
   */
  async stats({
    from,
    interval,
    scope,
    signal,
    to,
  }: CallOptions & {
    readonly from?: string | Date
    readonly to?: string | Date
    readonly scope?: "tenant" | "all"
    readonly interval?: Interval
  } = {}): Promise<RoutingStats> {
    const query = withoutUndefined({ from: toTime(from), to: toTime(to), scope, interval })
    return encodeStats(await run(this.connection.repeatable.routing.stats({ query }), withoutUndefined({ signal })))
  }

  /**
   * Returns what the caller's tenant spent, by `key`, `agent`, `model`, or a label (`label:NAME`), the dearest first; default:
   * in the last 24 hours. Needs the role `manage`.
   */
  async spend(
    by: string,
    {
      from,
      limit,
      signal,
      to,
    }: CallOptions & { readonly from?: string | Date; readonly to?: string | Date; readonly limit?: number } = {},
  ): Promise<Spend> {
    const query = { by, ...withoutUndefined({ from: toTime(from), to: toTime(to), limit }) }
    return encodeSpend(await run(this.connection.repeatable.routing.spend({ query }), withoutUndefined({ signal })))
  }

  /** Returns the state of each provider; `scope: "all"` looks for the latest failures of every tenant. */
  async providers({ scope, signal }: CallOptions & { readonly scope?: "tenant" | "all" } = {}): Promise<
    ReadonlyArray<ProviderHealth>
  > {
    const query = withoutUndefined({ scope })
    const report = await run(this.connection.repeatable.routing.providers({ query }), withoutUndefined({ signal }))
    return encodeHealth(report).items
  }

  async config(options?: CallOptions): Promise<RoutingSettings> {
    const { body } = await run(this.connection.repeatable.routing.config({}), options)
    return encodeSettings(body)
  }

  async replaceConfig(payload: RoutingSettingsInput, options?: Precondition): Promise<RoutingSettings> {
    const headers = ifVersion(options, routingETag)
    const { body } = await run(this.connection.api.routing.putConfig({ headers, payload }), options)
    return encodeSettings(body)
  }
}

/**
 * Agents, jobs, threads, schedules, keys, budgets, secrets, routing and audit trail of a gateway. Rejects with `GatewayProblem` after a refusal, and with `Unreachable`
 * without an answer.
 *
 * @example
 * const gateway = new GatewayClient({ baseUrl: "http://localhost:3000", token: process.env.SEALGATE_TOKEN ?? "" })
 * const agent = await gateway.agents.create({ name: "reviewer" })
 * const job = await gateway.agents.execute(agent.id, { task: "Is 391 a prime?", mode: "verified" })
 * const { result } = await job.wait()
 */
export class GatewayClient {
  readonly agents: AgentsClient
  readonly jobs: JobsClient
  readonly routing: RoutingClient
  readonly keys: KeysClient
  readonly budgets: BudgetsClient
  readonly secrets: SecretsClient
  readonly threads: ThreadsClient
  readonly schedules: SchedulesClient
  readonly audit: AuditClient
  private readonly connection: Connection

  constructor(options: GatewayClientOptions) {
    const connection = connect(options)
    this.jobs = new JobsClient(connection)
    this.agents = new AgentsClient(connection, this.jobs)
    this.routing = new RoutingClient(connection)
    this.keys = new KeysClient(connection)
    this.budgets = new BudgetsClient(connection)
    this.secrets = new SecretsClient(connection)
    this.threads = new ThreadsClient(connection)
    this.schedules = new SchedulesClient(connection)
    this.audit = new AuditClient(connection)
    this.connection = connection
  }

  /**
   * Yields after changes of the tenant's jobs or calls, at most once a second, until the connection ends. The first comes
   * without a change. `scope: "all"` is for administrators.
   */
  async *changes({ scope, signal }: CallOptions & { readonly scope?: "tenant" | "all" } = {}): AsyncGenerator<
    void,
    void
  > {
    const query = withoutUndefined({ scope })
    const stream = await run(this.connection.api.changes.follow({ query }), withoutUndefined({ signal }))
    const events = Stream.toAsyncIterable(Stream.catch(stream, () => Stream.empty))
    for await (const _ of untilAborted(events, signal)) yield
  }
}
