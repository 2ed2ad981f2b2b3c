/** Kept answers of the gateway, over real sockets. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { ask, costOf, startCalls } from "../support/calls.ts"
import { describeDatabases } from "../support/databases.ts"
import { fault } from "../support/FakeUpstream.ts"
import { call, type Call } from "../support/gateway.ts"

const CACHE = { CACHE_TTL: "1h" }

const start = Effect.fnUntraced(function* (
  database: Parameters<typeof startCalls>[0],
  environment: Readonly<Record<string, string>> = CACHE,
) {
  const started = yield* startCalls(database, environment)
  const { gateway } = started
  const chat = (token: string, body: object = ask("Hi"), headers: Call["headers"] = {}) =>
    Effect.map(call(gateway, "POST", "/v1/chat/completions", { token, body, headers }), (answer) => ({
      ...answer,
      cache: answer.headers.get("sealgate-cache"),
    }))
  return { ...started, chat }
})

describeDatabases("kept answers", (database) => {
  it.live("cost nothing: their budget stays the same, and the ledger counts their earlier cost as saved", () =>
    Effect.gen(function* () {
      const { boss, chat, fake, gateway, makeKey, stats } = yield* start(database)
      fake.script({ text: "Hello", usage: { input: 9, output: 2 } })
      const key = yield* makeKey({ budgets: [{ per: "day", max_cost_micro_usd: 1_000_000 }] })
      const [first, second] = [yield* chat(key), yield* chat(key)]
      assert.deepStrictEqual([first.status, first.cache, second.status, second.cache], [200, null, 200, "hit"])
      assert.strictEqual(second.text, first.text)
      assert.strictEqual(second.headers.get("content-type"), first.headers.get("content-type"))
      assert.lengthOf(fake.requests, 1)
      const cost = costOf(9, 2)
      const { json: listed } = yield* call(gateway, "GET", "/api/v1/keys", { token: boss })
      const [made] = listed["items"] as ReadonlyArray<{ readonly id: string }>
      const { json: used } = yield* call(gateway, "GET", `/api/v1/budgets?key=${made?.id}`, { token: boss })
      const [budget] = used["items"] as ReadonlyArray<Readonly<Record<string, unknown>>>
      assert.deepInclude(budget, { left_micro_usd: 1_000_000 - cost })
      const { json: ledger } = yield* call(gateway, "GET", "/api/v1/ledger", { token: boss })
      const [cached] = ledger["items"] as ReadonlyArray<Readonly<Record<string, unknown>>>
      assert.deepInclude(cached, {
        outcome: "cached",
        provider: "provider1",
        model: "model-1",
        key_id: made?.id,
        input_tokens: 0,
        cost_micro_usd: 0,
        baseline_micro_usd: cost,
      })
      assert.deepInclude(yield* stats, { calls: 2, failed_calls: 0, actual_micro_usd: cost, saved_micro_usd: cost })
      const { json: spend } = yield* call(gateway, "GET", "/api/v1/routing/spend?by=key", { token: boss })
      assert.deepInclude(spend["total"], { calls: 2, failed_calls: 0, unpriced_calls: 0, cost_micro_usd: cost })
    }),
  )

  it.live("never include answers that were cut short", () =>
    Effect.gen(function* () {
      const { chat, fake, gateway, makeKey } = yield* start(database)
      const key = yield* makeKey()
      fake.always({ text: "Hel", finish: "length", usage: { input: 9, output: 2 } })
      const [first, second] = [yield* chat(key), yield* chat(key)]
      assert.deepStrictEqual([first.status, second.status, second.cache], [200, 200, null])
      assert.lengthOf(fake.requests, 2)
      const message = { body: { ...ask("Hi", "claude-x"), max_tokens: 50 }, token: key }
      for (const _ of [1, 2]) {
        const { json, status } = yield* call(gateway, "POST", "/v1/messages", message)
        assert.deepStrictEqual([status, json["stop_reason"]], [200, "max_tokens"])
      }
      assert.lengthOf(fake.requests, 4)
    }),
  )

  it.live("repeat a stream byte for byte", () =>
    Effect.gen(function* () {
      const { chat, fake, makeKey } = yield* start(database)
      fake.script({ text: "Hello there", usage: { input: 9, output: 2 } })
      const key = yield* makeKey()
      const body = { ...ask("Hi"), stream: true, stream_options: { include_usage: true } }
      const [first, second] = [yield* chat(key, body), yield* chat(key, body)]
      assert.deepStrictEqual([first.cache, second.cache], [null, "hit"])
      assert.include(first.text, "[DONE]")
      assert.strictEqual(second.text, first.text)
      assert.lengthOf(fake.requests, 1)
    }),
  )

  it.live("exclude failures, and calls with no-store or no-cache", () =>
    Effect.gen(function* () {
      const { chat, fake, makeKey } = yield* start(database)
      const key = yield* makeKey()
      fake.script(fault.status(400, { body: { error: { message: "no", type: "invalid", code: "t" } } }))
      assert.strictEqual((yield* chat(key)).status, 400)
      assert.strictEqual((yield* chat(key)).cache, null)
      assert.strictEqual((yield* chat(key)).cache, "hit")
      assert.strictEqual((yield* chat(key, ask("Hi"), { "cache-control": "max-age=0, No-Store" })).cache, null)
      assert.strictEqual((yield* chat(key, ask("Hi"), { "cache-control": "no-cache" })).cache, null)
      assert.lengthOf(fake.requests, 4)
    }),
  )

  it.live("go only to callers who may ask: not with another policy or beyond the rate limit", () =>
    Effect.gen(function* () {
      const { boss, chat, fake, gateway, makeKey } = yield* start(database, { ...CACHE, RATE_LIMIT_EXECUTE: "4" })
      const made = yield* call(gateway, "POST", "/api/v1/keys", { token: boss, body: { name: "k", roles: ["run"] } })
      const key = String(made.json["key"])
      yield* chat(key)
      const limited = yield* makeKey({ models: { deny: ["model-1"] } })
      const refused = yield* chat(limited)
      assert.deepStrictEqual([refused.status >= 400, refused.cache], [true, null])
      assert.strictEqual((yield* chat(key)).cache, "hit")
      assert.strictEqual((yield* chat(limited, ask("Hi", "model-2"))).status, 200)
      const over = yield* chat(key)
      assert.deepStrictEqual([over.status, over.cache], [429, null])
      assert.lengthOf(fake.requests, 2)
    }),
  )

  it.live("are not given to revoked keys", () =>
    Effect.gen(function* () {
      const { boss, chat, gateway } = yield* start(database)
      const made = yield* call(gateway, "POST", "/api/v1/keys", { token: boss, body: { name: "k", roles: ["run"] } })
      const key = String(made.json["key"])
      yield* chat(key)
      assert.strictEqual((yield* chat(key)).cache, "hit")
      yield* call(gateway, "DELETE", `/api/v1/keys/${String(made.json["id"])}`, { token: boss })
      assert.strictEqual((yield* chat(key)).status, 401)
    }),
  )

  it.live("are off by default", () =>
    Effect.gen(function* () {
      const { chat, fake, makeKey } = yield* start(database, {})
      const key = yield* makeKey()
      assert.deepStrictEqual([(yield* chat(key)).cache, (yield* chat(key)).cache], [null, null])
      assert.lengthOf(fake.requests, 2)
    }),
  )
})
