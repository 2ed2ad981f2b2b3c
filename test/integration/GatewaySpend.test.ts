/** The gateway's report of spend by key, agent, model and label, and its command. */
import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"
import { statsCommand } from "../../src/cli/gateway/statsCommand.ts"
import { GatewayClient } from "../../src/client/gateway.ts"
import { ask, startCalls } from "../support/calls.ts"
import { describeDatabases } from "../support/databases.ts"
import { run } from "../support/cli.ts"
import { FakeUpstream } from "../support/FakeUpstream.ts"
import { call, databaseUrl, problemIn, startGateway, tokenFor } from "../support/gateway.ts"

const start = (database: Parameters<typeof databaseUrl>[0]) =>
  Effect.gen(function* () {
    const fake = yield* FakeUpstream.make()
    fake.always({ text: "443", usage: { input: 1000, output: 100 } })
    const gateway = yield* startGateway(yield* databaseUrl(database), { PROVIDER1_MODEL: "gpt-6-sol" }, fake)
    const token = yield* tokenFor("boss", { tenant: "acme", roles: ["manage"] })
    return { gateway, token, boss: new GatewayClient({ baseUrl: gateway.url, token }) }
  })

describeDatabases("the gateway's spend", (database) => {
  it.live("is reported by key, agent, model and label, within the tenant", () =>
    Effect.gen(function* () {
      const { boss, gateway, token } = yield* start(database)
      const [ci, other] = yield* Effect.promise(() =>
        Promise.all(["ci", "other"].map((name) => boss.keys.create({ name, roles: ["run"] }))),
      )
      assert(ci !== undefined && other !== undefined)
      const agent = yield* Effect.promise(() => boss.agents.create({ name: "reviewer" }))
      const ask = (token: string, metadata: Readonly<Record<string, string>>, model = "gpt-6-sol") =>
        call(gateway, "POST", "/v1/chat/completions", {
          token,
          body: { model, messages: [{ role: "user", content: "x" }], metadata },
        })
      for (const [key, project] of [
        [ci.key, "docs"],
        [ci.key, "docs"],
        [other.key, "web"],
      ] as const) {
        assert.strictEqual((yield* ask(key, { project })).status, 200)
      }
      assert.strictEqual((yield* ask(token, {}, "agent:reviewer")).status, 200)

      const by = (what: string, limit = 100) => Effect.promise(() => boss.routing.spend(what, { limit }))
      const keys = yield* by("key")
      assert.deepStrictEqual(
        keys.items.map(({ calls, name, value }) => [value, name, calls]),
        [
          [ci.id, "ci", 2],
          [other.id, "other", 1],
        ],
      )
      const price = keys.items[1]?.cost_micro_usd ?? 0
      assert.isAbove(price, 0)
      assert.strictEqual(keys.items[0]?.cost_micro_usd, 2 * price)
      assert.strictEqual(keys.total.cost_micro_usd, 3 * price + keys.rest.cost_micro_usd)
      assert.isAtLeast(keys.rest.calls, 1)
      const stats = yield* Effect.promise(() => boss.routing.stats())
      assert.deepInclude(keys.total, { calls: stats.calls, cost_micro_usd: stats.actual_micro_usd })
      assert.deepInclude((yield* by("agent")).items[0], { value: agent.id, name: "reviewer" })
      assert.deepStrictEqual(
        (yield* by("model")).items.map(({ value }) => value),
        ["provider1/gpt-6-sol"],
      )
      assert.deepStrictEqual(
        (yield* by("label:project")).items.map(({ calls, value }) => [value, calls]),
        [
          ["docs", 2],
          ["web", 1],
        ],
      )
      assert.deepInclude((yield* by("key", 1)).rest, { calls: keys.rest.calls + 1 })
      yield* Effect.promise(() => boss.keys.revoke(ci.id))
      assert.notProperty((yield* by("key")).items[0], "name")

      const theirs = new GatewayClient({
        baseUrl: gateway.url,
        token: yield* tokenFor("mallory", { tenant: "other", roles: ["admin"] }),
      })
      assert.strictEqual((yield* Effect.promise(() => theirs.routing.spend("key"))).total.calls, 0)

      const environment = ConfigProvider.fromEnv({ env: { SEALGATE_TOKEN: token } })
      const shown = (...args: ReadonlyArray<string>) =>
        run(statsCommand, [...args, "--gateway", gateway.url]).pipe(
          Effect.provideService(ConfigProvider.ConfigProvider, environment),
        )
      assert.match(
        (yield* shown("--by", "key", "--last", "1h")).stdout,
        new RegExp(`${other.id} +other +\\$0\\.\\d+ +1 `),
      )
      assert.include((yield* shown("--by", "agent", "--json")).stdout, '"reviewer"')
      const wrong = yield* shown("--by", "tenant")
      assert.deepStrictEqual([wrong.code, wrong.stderr.includes("label:")], [2, true])
      assert.strictEqual((yield* shown("--by", "key", "--all")).code, 2)
    }),
  )

  it.live("takes labels from suitable metadata, and ignores other metadata", () =>
    Effect.gen(function* () {
      const { boss, gateway, token } = yield* start(database)
      for (const metadata of [
        { ["x".repeat(65)]: "a", "": "b", "a\u0000b": "c", team: "ok" },
        { team: "y".repeat(129) },
        { team: 5 },
        ["team"],
        { team: "z".repeat(40_000) },
        "team",
        null,
      ]) {
        const body = { model: "gpt-6-sol", messages: [{ role: "user", content: "x" }], metadata }
        assert.strictEqual((yield* call(gateway, "POST", "/v1/chat/completions", { token, body })).status, 200)
      }
      const { items, total } = yield* Effect.promise(() => boss.routing.spend("label:team"))
      assert.deepStrictEqual([items.map(({ calls, value }) => [value, calls]), total.calls], [[["ok", 1]], 7])
    }),
  )

  it.live("has the labels of calls whose vendor would refuse them as metadata", () =>
    Effect.gen(function* () {
      const { anthropic, boss, fake, gateway, makeKey, openai } = yield* startCalls(database)
      fake.always({ text: "ok" })
      const key = yield* makeKey()
      const { chat, embeddings } = openai(key)
      const { messages } = anthropic(key)
      const [labels, user_id] = [{ team: "a" }, "u-1"]
      const extra = (metadata: object): object => ({ metadata })
      yield* Effect.promise(async () => {
        await chat.completions.create({ ...ask("Hi"), ...extra(labels) })
        await chat.completions.create({ ...ask("Hi"), ...extra(labels), store: true })
        await chat.completions.create({ ...ask("Hi"), ...extra({ tags: ["a"] }) })
        await messages.create({ ...ask("Hi", "claude-x"), max_tokens: 9, ...extra({ ...labels, user_id }) })
        await messages.create({ ...ask("Hi", "claude-x"), max_tokens: 9, ...extra({ user_id }) })
        await embeddings.create({ model: "embedder", input: "Hi", ...extra(labels) }).catch(() => undefined)
      })
      assert.deepStrictEqual(
        fake.requests.map(({ body }) => Object(body).metadata),
        [undefined, labels, { tags: ["a"] }, { user_id }, { user_id }, undefined],
      )
      const { json } = yield* call(gateway, "GET", "/api/v1/ledger", { token: boss })
      const entries = json["items"] as ReadonlyArray<{ readonly labels: object }>
      assert.deepStrictEqual(entries.map((entry) => entry.labels).toReversed(), [
        labels,
        labels,
        {},
        { ...labels, user_id },
        { user_id },
        labels,
      ])
    }),
  )

  it.live("is for managers, and refuses invalid requests", () =>
    Effect.gen(function* () {
      const { boss, gateway, token } = yield* start(database)
      const reader = yield* Effect.promise(() => boss.keys.create({ name: "r", roles: ["read"] }))
      const get = (query: string, as = token) => call(gateway, "GET", `/api/v1/routing/spend${query}`, { token: as })
      assert.strictEqual(problemIn(yield* get("?by=key", reader.key)).code, "forbidden")
      for (const query of [
        "",
        "?by=tenant",
        "?by=label:",
        "?by=label:a%00b",
        `?by=label:${"x".repeat(65)}`,
        "?by=key&limit=0",
        "?by=key&limit=1001",
        "?by=key&from=noon",
        "?by=key&from=2026-01-01T00:00:00",
        "?by=key&from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z",
      ]) {
        assert.strictEqual((yield* get(query)).status, 400, query)
      }
      for (const query of [
        "?by=label:%F0%9F%8E%89",
        "?by=label:'%22%25",
        "?by=key&from=0001-01-01T00:00:00Z&to=9999-12-31T23:59:59Z",
      ]) {
        assert.strictEqual((yield* get(query)).status, 200, query)
      }
    }),
  )
})
