/** The threads of every tenant. A call sees only those of its tenant. */
import { Clock, Context, DateTime, Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { KeyLimits } from "../../domain/access/identity.ts"
import { AgentId, type AgentNotFound, type TenantId } from "../../domain/jobs/agent.ts"
import { isThreadId, Thread, ThreadBusy, ThreadNotFound } from "../../domain/jobs/thread.ts"
import type { CursorInvalid, Page, PageRequest, StorageUnavailable } from "../../domain/operations/storage.ts"
import { Agents } from "../agents/Agents.ts"
import { makeReadPage } from "../readPage.ts"
import { decodeRows, permitted, unavailable } from "../storedRows.ts"
import { Jobs } from "./Jobs.ts"

const Row = Schema.Struct({ ...Thread.fields, agent_id: AgentId, created_at: Schema.DateTimeUtcFromMillis })
const decode = decodeRows("threads", Row)

export class Threads extends Context.Service<
  Threads,
  {
    readonly create: (tenant: TenantId, agentId: string) => Effect.Effect<Thread, AgentNotFound | StorageUnavailable>
    readonly get: (tenant: TenantId, id: string) => Effect.Effect<Thread, ThreadNotFound | StorageUnavailable>
    /**
     * Turns an ended job of the agent that is in no thread into the first job of a new one; both have the same id. Does
     * nothing if there is no such job.
     */
    readonly beginWith: (
      tenant: TenantId,
      agentId: AgentId,
      job: Thread["id"],
    ) => Effect.Effect<void, ThreadBusy | StorageUnavailable>
    /** Lists those of these agents (default: all), newest first. */
    readonly list: (
      tenant: TenantId,
      page?: PageRequest,
      agents?: KeyLimits["agents"],
    ) => Effect.Effect<Page<Thread>, CursorInvalid | StorageUnavailable>
    /** Deletes the thread and its jobs, and interrupts one that has not ended. */
    readonly remove: (tenant: TenantId, id: string) => Effect.Effect<void, ThreadNotFound | StorageUnavailable>
  }
>()("sealgate/services/jobs/Threads") {
  static readonly layer = Layer.effect(
    Threads,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom
      const agents = yield* Agents
      const jobs = yield* Jobs
      const readPage = makeReadPage(sql, { table: "threads", columns: "id, agent_id, created_at", bytes: "0" })

      const find = Effect.fnUntraced(function* (tenant: TenantId, id: string) {
        // A database may refuse to compare with a malformed id.
        if (!isThreadId(id)) return yield* new ThreadNotFound()
        const [thread] = yield* decode(
          yield* sql`SELECT id, agent_id, created_at FROM threads WHERE id = ${id} AND tenant = ${tenant}`,
        )
        return thread ?? (yield* new ThreadNotFound())
      })

      const removeJobs = Effect.fnUntraced(function* (tenant: TenantId, thread: string) {
        const ids = yield* unavailable(sql<{ id: string }>`SELECT id FROM jobs WHERE thread = ${thread}`)
        yield* Effect.forEach(
          ids,
          ({ id }) => Effect.catchTag(jobs.remove(tenant, id), "JobNotFound", () => Effect.void),
          {
            discard: true,
          },
        )
      })

      return Threads.of({
        create: Effect.fn("Threads.create")(function* (tenant, agentId) {
          const { id: agent_id } = yield* agents.get(tenant, agentId)
          const created_at = DateTime.makeUnsafe(yield* Clock.currentTimeMillis)
          const id = yield* random.uuidV7()
          yield* sql`INSERT INTO threads ${sql.insert({ id, tenant, agent_id, created_at: created_at.epochMilliseconds })}`
          return { id, agent_id, created_at }
        }, unavailable),

        beginWith: Effect.fn("Threads.beginWith")(
          function* (tenant, agent_id, id) {
            const [begun] = yield* sql<{ finished_at: unknown }>`UPDATE jobs SET thread = id
              WHERE id = ${id} AND tenant = ${tenant} AND agent_id = ${agent_id} AND thread IS NULL RETURNING finished_at`
            if (begun === undefined) return
            if (begun.finished_at === null) return yield* new ThreadBusy()
            const created_at = yield* Clock.currentTimeMillis
            yield* sql`INSERT INTO threads ${sql.insert({ id, tenant, agent_id, created_at })}`
          },
          sql.withTransaction,
          unavailable,
        ),

        get: Effect.fn("Threads.get")(find, unavailable),

        list: Effect.fn("Threads.list")(function* (tenant, page, agents) {
          return yield* readPage(sql`tenant = ${tenant} AND ${permitted(sql, "agent_id", agents)}`, page, decode)
        }, unavailable),

        remove: Effect.fn("Threads.remove")(function* (tenant, id) {
          const thread = yield* unavailable(find(tenant, id))
          // Removes the thread last, so that a failed call can be repeated. Jobs that were added meanwhile are removed
          // with it.
          yield* removeJobs(tenant, thread.id)
          yield* unavailable(sql`DELETE FROM threads WHERE id = ${thread.id}`)
          yield* removeJobs(tenant, thread.id)
        }),
      })
    }),
  ).pipe(Layer.provide(SecureRandom.layerWebCrypto))
}
