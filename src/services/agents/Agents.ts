/** The agents of every tenant. A call sees only the agents of its tenant. */
import { Clock, Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import {
  type Agent,
  agentETag,
  AgentId,
  AgentNotFound,
  AgentStale,
  type CreateAgent,
  DEFAULT_LIMITS,
  DEFAULT_MODE,
  ifMatchAllows,
  type TenantId,
  TooManyAgents,
  type UpdateAgent,
} from "../../domain/jobs/agent.ts"
import type { CursorInvalid, Page, PageRequest, StorageUnavailable } from "../../domain/operations/storage.ts"
import { merged } from "../../domain/json/merged.ts"
import type { KeyLimits } from "../../domain/access/identity.ts"
import { TenantQuotas } from "../access/TenantQuotas.ts"
import { makeBatched } from "../batched.ts"
import { makeReadPage } from "../readPage.ts"
import { spanned } from "../spans.ts"
import { givenRows, permitted, unavailable, unavailableUnlimited } from "../storedRows.ts"
import { decodeAgent, encodeAgent } from "./storedAgents.ts"

/** An `If-Match` header, as it was sent. */
type IfMatch = string | undefined

export class Agents extends Context.Service<
  Agents,
  {
    readonly create: (tenant: TenantId, input: CreateAgent) => Effect.Effect<Agent, TooManyAgents | StorageUnavailable>
    readonly get: (tenant: TenantId, id: string) => Effect.Effect<Agent, AgentNotFound | StorageUnavailable>
    /** The newest agent with this name, or the one with this id, among these agents (default: all). */
    readonly named: (
      tenant: TenantId,
      name: string,
      agents?: KeyLimits["agents"],
    ) => Effect.Effect<Agent, AgentNotFound | StorageUnavailable>
    /** Lists these agents (default: all), newest first. */
    readonly list: (
      tenant: TenantId,
      page?: PageRequest,
      agents?: KeyLimits["agents"],
    ) => Effect.Effect<Page<Agent>, CursorInvalid | StorageUnavailable>
    /** Without `ifMatch` the change applies to any version. */
    readonly update: (
      tenant: TenantId,
      id: string,
      change: UpdateAgent,
      ifMatch?: IfMatch,
    ) => Effect.Effect<Agent, AgentNotFound | AgentStale | StorageUnavailable>
    /** The agent's jobs have a copy of it and stay readable. */
    readonly remove: (
      tenant: TenantId,
      id: string,
      ifMatch?: IfMatch,
    ) => Effect.Effect<void, AgentNotFound | AgentStale | StorageUnavailable>
  }
>()("sealgate/services/agents/Agents") {
  static readonly layer = Layer.effect(
    Agents,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom

      const { agents: most } = yield* TenantQuotas
      const insert = makeInsert(sql, most)
      const readPage = makeReadPage(sql, { table: "agents", columns: "document", bytes: "octet_length(document)" })
      const find = yield* makeFind(sql)
      const { tryRemove, tryUpdate } = makeChanges(sql, find)

      return Agents.of({
        create: Effect.fn("Agents.create")(function* (tenant, input) {
          const now = DateTime.makeUnsafe(yield* Clock.currentTimeMillis)
          const agent: Agent = {
            default_mode: DEFAULT_MODE,
            model_policy: {},
            metadata: {},
            ...input,
            limits: { ...DEFAULT_LIMITS, ...input.limits },
            id: AgentId.make(yield* random.uuidV7()),
            version: 1,
            created_at: now,
            updated_at: now,
          }
          const document = yield* encodeAgent(agent)
          const { id, name, version } = agent
          if (yield* insert({ id, tenant, version, name: JSON.stringify(name), document })) return agent
          return yield* new TooManyAgents({ detail: `At most ${most} agents of one tenant may exist.` })
        }, unavailable),

        get: (tenant, id) => spanned("Agents.get")(unavailableUnlimited(find(tenant, id))),

        named: Effect.fn("Agents.named")(function* (tenant, name, agents) {
          if (isAgentId(name)) return yield* agents?.includes(name) === false ? new AgentNotFound() : find(tenant, name)
          const [row] = yield* sql<Stored>`SELECT document FROM agents
            WHERE tenant = ${tenant} AND name = ${JSON.stringify(name)} AND ${permitted(sql, "id", agents)}
            ORDER BY id DESC LIMIT 1`
          return row === undefined ? yield* new AgentNotFound() : yield* decodeAgent(row.document)
        }, unavailable),

        list: Effect.fn("Agents.list")(function* (tenant, page, agents) {
          const wanted = sql`tenant = ${tenant} AND ${permitted(sql, "id", agents)}`
          return yield* readPage(wanted, page, (rows: ReadonlyArray<Stored>) =>
            Effect.forEach(rows, ({ document }) => decodeAgent(document)),
          )
        }, unavailable),

        update: Effect.fn("Agents.update")(
          (tenant, id, change, ifMatch) => untilNotOvertaken(tryUpdate(tenant, id, change, ifMatch)),
          unavailable,
        ),

        remove: Effect.fn("Agents.remove")(
          (tenant, id, ifMatch) => untilNotOvertaken(tryRemove(tenant, id, ifMatch)),
          unavailable,
        ),
      })
    }),
  ).pipe(Layer.provide(SecureRandom.layerWebCrypto))
}

const isAgentId = Schema.is(AgentId)

/** One read. The tenant is part of it, because a query may serve several tenants. */
interface AgentRef {
  readonly tenant: TenantId
  readonly agent_id: AgentId
}

interface Stored {
  readonly document: string
}

/** The row changed between read and write, so both are repeated with the same `If-Match`. */
class Overtaken extends Schema.TaggedError<Overtaken>()("Overtaken", {}) {}

const untilNotOvertaken = <A, E, R>(effect: Effect.Effect<A, E | Overtaken, R>) =>
  Effect.catchIf(
    Effect.retry(effect, { while: (error) => error instanceof Overtaken }),
    (error): error is Extract<E, Overtaken> | Overtaken => error instanceof Overtaken,
    Effect.die,
  )

/** Returns a function that adds an agent, and returns whether its tenant had fewer than `most`. */
const makeInsert = (sql: SqlClient.SqlClient, most: number) => {
  const given = givenRows(sql, { id: "TEXT", tenant: "TEXT", version: "BIGINT", name: "TEXT", document: "TEXT" })
  // On Postgres, a count would miss agents of concurrent transactions, so these take turns.
  const inTurn = sql.onDialectOrElse({
    pg: () => (tenant: string) => sql`SELECT pg_advisory_xact_lock(hashtextextended(${`agents of ${tenant}`}, 0))`,
    orElse: () => () => Effect.void,
  })
  return Effect.fnUntraced(function* (row: Parameters<typeof given>[0][number] & { readonly tenant: string }) {
    yield* inTurn(row.tenant)
    const inserted = yield* sql`INSERT INTO agents (id, tenant, version, name, document)
      SELECT id, tenant, version, name, document FROM ${given([row])}
      WHERE (SELECT COUNT(*) FROM agents WHERE tenant = ${row.tenant}) < ${most} RETURNING id`
    return inserted.length > 0
  }, sql.withTransaction)
}

/** Returns the lookup of one agent. */
const makeFind = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const given = givenRows(sql, { tenant: "TEXT", agent_id: "TEXT" })
  /** Reads documents of agents. Concurrent reads share one query. */
  const documentOf = yield* makeBatched<AgentRef, Option.Option<string>>({
    run: (asked) =>
      Effect.map(
        sql<Stored & AgentRef>`SELECT given.tenant, given.agent_id, document FROM ${given(asked)}
          JOIN agents ON agents.tenant = given.tenant AND agents.id = given.agent_id`,
        (rows) =>
          asked.map(({ agent_id, tenant }) =>
            Option.map(
              Option.fromUndefinedOr(rows.find((row) => row.agent_id === agent_id && row.tenant === tenant)),
              ({ document }) => document,
            ),
          ),
      ),
  })

  return Effect.fnUntraced(function* (tenant: TenantId, id: string) {
    // Checked first: a database may refuse to compare with a malformed id.
    if (!isAgentId(id)) return yield* new AgentNotFound()
    const document = yield* documentOf({ tenant, agent_id: id })
    return Option.isSome(document) ? yield* decodeAgent(document.value) : yield* new AgentNotFound()
  })
})

type Find = Effect.Success<ReturnType<typeof makeFind>>

/** Returns functions that try once to change or remove an agent. They fail with `Overtaken` if its row changed meanwhile. */
const makeChanges = (sql: SqlClient.SqlClient, find: Find) => {
  const findForChange = Effect.fnUntraced(function* (tenant: TenantId, id: string, ifMatch: IfMatch) {
    const agent = yield* find(tenant, id)
    if (ifMatch !== undefined && !ifMatchAllows(ifMatch, agentETag(agent))) {
      return yield* new AgentStale({ headers: { etag: agentETag(agent) } })
    }
    return agent
  })

  const tryUpdate = Effect.fnUntraced(function* (tenant: TenantId, id: string, change: UpdateAgent, ifMatch: IfMatch) {
    const before = yield* findForChange(tenant, id, ifMatch)
    const after = changed(before, change, DateTime.makeUnsafe(yield* Clock.currentTimeMillis))
    const document = yield* encodeAgent(after)
    const written = yield* sql`
      UPDATE agents SET document = ${document}, version = ${after.version}, name = ${JSON.stringify(after.name)}
      WHERE tenant = ${tenant} AND id = ${id} AND version = ${before.version} RETURNING version`
    return written.length === 0 ? yield* new Overtaken() : after
  })

  const tryRemove = Effect.fnUntraced(function* (tenant: TenantId, id: string, ifMatch: IfMatch) {
    const agent = yield* findForChange(tenant, id, ifMatch)
    const removed = yield* sql`
      DELETE FROM agents WHERE tenant = ${tenant} AND id = ${id} AND version = ${agent.version} RETURNING id`
    if (removed.length === 0) return yield* new Overtaken()
  })

  return { tryUpdate, tryRemove }
}

const changed = (agent: Agent, { limits = {}, ...change }: UpdateAgent, now: DateTime.Utc): Agent => ({
  ...merged(agent, change),
  limits: merged(agent.limits, limits),
  version: agent.version + 1,
  updated_at: now,
})
