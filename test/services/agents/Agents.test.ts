import { assert, it, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { Agent, agentETag, CreateAgent, TenantId, UpdateAgent } from "../../../src/domain/jobs/agent.ts"
import { Agents } from "../../../src/services/agents/Agents.ts"
import { describeDatabases } from "../../support/databases.ts"

const newTenant = Effect.sync(() => TenantId.make(SecureRandom.uuidV7Unsafe()))

describeDatabases("agents", (database) => {
  layer(Agents.layer.pipe(Layer.provideMerge(database.layer)))((it) => {
    it.effect("are created with defaults, and read back as they were returned", () =>
      Effect.gen(function* () {
        const agents = yield* Agents
        const tenant = yield* newTenant
        const plain = yield* agents.create(tenant, { name: "plain" })
        assert.deepInclude(plain, {
          name: "plain",
          default_mode: "adversarial",
          model_policy: {},
          limits: { max_rounds: 2, timeout_seconds: 600 },
          metadata: {},
          version: 1,
        })
        assert.isFalse("role" in plain)
        const full = yield* agents.create(tenant, {
          name: "full",
          role: "reviewer",
          instructions: "Be fair.\u0000\ud83e\uddad",
          default_mode: "verified",
          model_policy: { allow: ["provider1/*"], deny: ["*/mini"] },
          limits: { max_rounds: 3, max_cost_micro_usd: 5_000_000_000 },
          metadata: { team: "a" },
        })
        assert.deepStrictEqual(full.limits, { max_rounds: 3, max_cost_micro_usd: 5_000_000_000, timeout_seconds: 600 })
        assert.deepStrictEqual(yield* agents.get(tenant, plain.id), plain)
        assert.deepStrictEqual(yield* agents.get(tenant, full.id), full)
      }),
    )

    it.effect.prop("are returned unchanged for any valid input", [CreateAgent], ([input]) =>
      Effect.gen(function* () {
        const agents = yield* Agents
        const tenant = yield* newTenant
        const created = yield* agents.create(tenant, input)
        assert.deepStrictEqual(yield* agents.get(tenant, created.id), created)
        assert.isTrue(Schema.is(Agent)(created))
      }),
    )

    it.effect("are listed newest first, page by page, each exactly once", () =>
      Effect.gen(function* () {
        const agents = yield* Agents
        const tenant = yield* newTenant
        const created = yield* Effect.forEach(Array.from({ length: 7 }).keys(), (n) =>
          agents.create(tenant, { name: `agent ${n}` }),
        )
        const seen: Array<string> = []
        let cursor: string | undefined
        let pages = 0
        do {
          const page = yield* agents.list(tenant, { limit: 3, cursor })
          seen.push(...page.items.map((agent) => agent.id))
          cursor = page.next_cursor
          pages++
        } while (cursor !== undefined)
        assert.strictEqual(pages, 3)
        assert.deepStrictEqual(seen, created.map((agent) => agent.id).toReversed())
        assert.isUndefined((yield* agents.list(tenant, { limit: 7 })).next_cursor)
        for (const cursor of ["nonsense", "", "AAAA", "x".repeat(100_000)]) {
          assert.strictEqual((yield* Effect.flip(agents.list(tenant, { cursor })))._tag, "CursorInvalid")
        }
      }),
    )

    it.effect("are listed in pages that one answer can hold", () =>
      Effect.gen(function* () {
        const agents = yield* Agents
        const tenant = yield* newTenant
        const instructions = "x".repeat(100_000)
        yield* Effect.forEach(Array.from({ length: 12 }), () => agents.create(tenant, { name: "big", instructions }))
        const first = yield* agents.list(tenant)
        assert.strictEqual(first.items.length, 10)
        const rest = yield* agents.list(tenant, { cursor: first.next_cursor })
        assert.strictEqual(rest.items.length, 2)
        assert.isUndefined(rest.next_cursor)
      }),
    )

    it.effect("are found by name without reading any other", () =>
      Effect.gen(function* () {
        const agents = yield* Agents
        const sql = yield* SqlClient.SqlClient
        const tenant = yield* newTenant
        const name = 'a "name"\u0000\u{1f9ad}'
        const older = yield* agents.create(tenant, { name })
        const newest = yield* agents.create(tenant, { name: "before", metadata: { name } })
        // An unreadable agent would fail the look-up that reads it.
        yield* sql`UPDATE agents SET document = '{}' WHERE id = ${older.id}`
        for (let other = 0; other < 101; other++) yield* agents.create(tenant, { name: "other", metadata: { name } })
        assert.strictEqual((yield* Effect.flip(agents.named(tenant, name, [newest.id])))._tag, "AgentNotFound")
        const renamed = yield* agents.update(tenant, newest.id, { name })
        assert.deepStrictEqual(yield* agents.named(tenant, name), renamed)
        assert.strictEqual((yield* Effect.flip(agents.named(tenant, "before")))._tag, "AgentNotFound")
        assert.strictEqual((yield* Effect.flip(agents.named(tenant, name, [])))._tag, "AgentNotFound")
      }),
    )

    it.effect("are accepted up to their size limits, and no larger", () =>
      Effect.gen(function* () {
        const agents = yield* Agents
        const tenant = yield* newTenant
        const decode = Schema.decodeUnknownEffect(CreateAgent)
        const patterns = Array.from({ length: 64 }, () => "x".repeat(256))
        const largest = {
          name: "x".repeat(200),
          role: "x".repeat(1000),
          instructions: "x".repeat(100_000),
          model_policy: { allow: patterns, deny: patterns },
        }
        const { id } = yield* agents.create(tenant, yield* decode(largest))
        assert.deepInclude(yield* agents.get(tenant, id), largest)
        for (const larger of [
          { ...largest, name: `${largest.name}x` },
          { ...largest, role: `${largest.role}x` },
          { ...largest, instructions: `${largest.instructions}x` },
          { ...largest, model_policy: { allow: [...patterns, "x"] } },
          { ...largest, model_policy: { deny: [...patterns, "x"] } },
          { ...largest, model_policy: { allow: ["x".repeat(257)] } },
          { ...largest, model_policy: { allow: [""] } },
        ]) {
          yield* Effect.flip(decode(larger))
        }
      }),
    )

    it.effect("lose a limit that is set to null, and keep the others", () =>
      Effect.gen(function* () {
        const agents = yield* Agents
        const tenant = yield* newTenant
        const limits = { max_rounds: 1, timeout_seconds: 60, max_calls: 7, max_tokens: 9, max_cost_micro_usd: 8 }
        const agent = yield* agents.create(tenant, { name: "a", limits })
        const update = (limits: unknown) =>
          Effect.flatMap(Schema.decodeUnknownEffect(UpdateAgent)({ limits }), (change) =>
            agents.update(tenant, agent.id, change),
          )
        const less = yield* update({ max_tokens: null, max_rounds: 2 })
        assert.deepStrictEqual(less.limits, { max_rounds: 2, timeout_seconds: 60, max_calls: 7, max_cost_micro_usd: 8 })
        const none = yield* update({ max_calls: null, max_cost_micro_usd: null })
        assert.deepStrictEqual(none.limits, { max_rounds: 2, timeout_seconds: 60 })
        assert.deepStrictEqual(yield* agents.get(tenant, agent.id), none)
        // Every agent has these.
        yield* Effect.flip(update({ max_rounds: null }))
        yield* Effect.flip(update({ timeout_seconds: null }))
      }),
    )

    it.effect("change only in the given members, and only if the latest version is named", () =>
      Effect.gen(function* () {
        const agents = yield* Agents
        const tenant = yield* newTenant
        const first = yield* agents.create(tenant, { name: "a", role: "critic", metadata: { a: "1" } })
        const second = yield* agents.update(
          tenant,
          first.id,
          { name: "b", role: null, limits: { max_tokens: 9 }, metadata: { b: "2" } },
          `"7", ${agentETag(first)}`,
        )
        assert.strictEqual(second.version, 2)
        assert.strictEqual(second.name, "b")
        assert.isFalse("role" in second)
        assert.deepStrictEqual(second.metadata, { b: "2" })
        assert.deepStrictEqual(second.limits, { ...first.limits, max_tokens: 9 })
        assert.deepStrictEqual(yield* agents.get(tenant, first.id), second)

        for (const stale of [agentETag(first), `W/${agentETag(second)}`, "2", '"x"']) {
          const error = yield* Effect.flip(agents.update(tenant, first.id, { name: "c" }, stale))
          assert.strictEqual(error._tag, "AgentStale", stale)
          assert.strictEqual((yield* Effect.flip(agents.remove(tenant, first.id, stale)))._tag, "AgentStale", stale)
        }
        assert.strictEqual((yield* agents.update(tenant, first.id, { name: "c" }, "*")).version, 3)
        assert.strictEqual((yield* agents.update(tenant, first.id, { name: "d" })).version, 4)
        yield* agents.remove(tenant, first.id, '"4"')
        assert.strictEqual((yield* Effect.flip(agents.get(tenant, first.id)))._tag, "AgentNotFound")
        assert.strictEqual((yield* Effect.flip(agents.remove(tenant, first.id)))._tag, "AgentNotFound")
      }),
    )

    it.effect("lose no concurrent change, and accept one of several that name the same version", () =>
      Effect.gen(function* () {
        const agents = yield* Agents
        const tenant = yield* newTenant
        const agent = yield* agents.create(tenant, { name: "busy" })
        const limits = ["max_tokens", "max_cost_micro_usd"] as const
        yield* Effect.all(
          limits.flatMap((limit) => [1, 2, 3].map((n) => agents.update(tenant, agent.id, { limits: { [limit]: n } }))),
          { concurrency: "unbounded" },
        )
        const after = yield* agents.get(tenant, agent.id)
        assert.strictEqual(after.version, 7)
        assert.isDefined(after.limits.max_tokens)
        assert.isDefined(after.limits.max_cost_micro_usd)

        const results = yield* Effect.all(
          Array.from({ length: 10 }, (_, n) =>
            Effect.result(agents.update(tenant, agent.id, { name: `${n}` }, agentETag(after))),
          ),
          { concurrency: "unbounded" },
        )
        assert.strictEqual(results.filter((result) => result._tag === "Success").length, 1)
      }),
    )

    it.effect("do not exist for other tenants", () =>
      Effect.gen(function* () {
        const agents = yield* Agents
        const [mine, theirs] = [yield* newTenant, yield* newTenant]
        const agent = yield* agents.create(mine, { name: "mine" })
        assert.strictEqual((yield* Effect.flip(agents.get(theirs, agent.id)))._tag, "AgentNotFound")
        assert.strictEqual((yield* Effect.flip(agents.update(theirs, agent.id, {}, "*")))._tag, "AgentNotFound")
        assert.strictEqual((yield* Effect.flip(agents.remove(theirs, agent.id)))._tag, "AgentNotFound")
        assert.deepStrictEqual((yield* agents.list(theirs)).items, [])
        assert.deepStrictEqual(yield* agents.get(mine, agent.id), agent)
      }),
    )
  })
})

it("TenantId accepts only names that a database can store", () => {
  for (const bad of ["", "a\u0000b", "\ud800", "x".repeat(261)]) assert.isFalse(Schema.is(TenantId)(bad), bad)
  for (const good of ["auth0|42", "žluť", "x".repeat(260)]) assert.isTrue(Schema.is(TenantId)(good), good)
})
