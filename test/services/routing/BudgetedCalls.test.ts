/** Calls of the router within the budgets of a key. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { UpstreamError } from "../../../src/domain/upstream/upstream.ts"
import { call, completion, prices, routing, settings, target } from "./RouterFixture.ts"
import { attempt, type Reply, ScriptedUpstream, status, usage } from "./ScriptedUpstream.ts"

const budgeted = (id: string) => [
  { owner: { kind: "key" as const, id }, budgets: [{ per: "total" as const, max_cost_micro_usd: 400_000 }] },
]

const spentBy = (owner: string) =>
  SqlClient.SqlClient.use((sql) =>
    Effect.map(
      sql<{ cost: number }>`SELECT spent_cost AS cost FROM budget_use WHERE owner = ${`key:${owner}`}`,
      ([row]) => row?.cost,
    ),
  )

const upstreamOf = (reply: Reply) => new ScriptedUpstream([status("provider1"), status("provider2")], () => reply)

/** Five tokens of prompt and the longest answer, 8,192 tokens, at the dearest target. */
const WORST = 5 * 10 + 8192 * 40

it.effect("reserves what the cache may write, and charges what it wrote", () =>
  Effect.gen(function* () {
    yield* call({ budgeted: budgeted("writes"), completion: { ...completion("x".repeat(3000)), max_tokens: 10 } })
    assert.strictEqual(yield* spentBy("writes"), 500 * 10 + 300 * 15 + 200 * 20 + 10 * 40)
    const refused = yield* Effect.flip(
      call({ budgeted: budgeted("writes"), completion: { ...completion("x".repeat(60_000)), max_tokens: 10 } }),
    )
    assert.deepInclude(refused, { _tag: "BudgetExhausted" })
  }).pipe(
    Effect.provide(
      routing(
        upstreamOf({
          usage: { ...usage(1000, 10), prompt_tokens_details: { cache_write_tokens: 500, cache_write_1h_tokens: 200 } },
        }),
        settings({
          targets: [
            target("provider1/large", {
              prices: { ...prices(10, 40), cache_write_input: 15_000_000, cache_write_1h_input: 20_000_000 },
            }),
          ],
        }),
      ),
    ),
  ),
)

it.effect("charges what it reserved for a cache of an hour if a provider reports nothing", () =>
  Effect.gen(function* () {
    yield* call({ budgeted: budgeted("unsaid"), completion: { ...completion("x".repeat(3000)), max_tokens: 10 } })
    assert.strictEqual(yield* spentBy("unsaid"), 1004 * 20 + 10 * 40)
  }).pipe(
    Effect.provide(
      routing(
        upstreamOf({ usage: null }),
        settings({
          targets: [target("provider1/large", { prices: { ...prices(10, 40), cache_write_1h_input: 20_000_000 } })],
        }),
      ),
    ),
  ),
)

it.effect("calls no target without a price for a key with a money budget", () =>
  Effect.gen(function* () {
    const refused = yield* Effect.flip(call({ budgeted: budgeted("unpriced"), policy: { allow: ["unknown-model"] } }))
    assert.deepInclude(refused, { _tag: "NoTarget", reason: "price" })
  }).pipe(
    Effect.provide(
      routing(upstreamOf({}), settings({ targets: [...settings().targets, target("provider1/unknown-model")] })),
    ),
  ),
)

/** Faults of a provider, what each charges at most, and whether the ledger marks the charge as an estimate. */
const FAULTS = [
  ["reports no usage", { usage: null }, WORST, 1],
  ["reports zeros", { usage: usage(0, 0) }, WORST, 1],
  ["bills more than its limit allows", { usage: usage(5, 9000) }, 5 * 10 + 9000 * 40, 0],
  ["times out", "timeout", WORST, 1],
  ["breaks off its stream", "truncated", WORST, 1],
  ["breaks off before it counts its output", "uncounted", WORST, 1],
  ["filters the prompt, whose tokens it counts", "filtered", 5 * 10, 0],
  ["sends garbage", "garbage", WORST, 1],
] as const

const broken = (how: "timeout" | "truncated" | "garbage" | "uncounted" | "filtered") =>
  new UpstreamError({
    code: "upstream-timeout",
    attempts: [
      attempt(
        { provider: "provider1", model: "large" },
        how === "uncounted"
          ? { outcome: "truncated", usage: usage(5, 0) }
          : how === "filtered"
            ? { outcome: "content-filtered", usage: usage(5, 0) }
            : { outcome: how },
      ),
    ],
  })

const charges = SqlClient.SqlClient.use(
  (sql) => sql<{ charged: number; estimated: number }>`SELECT SUM(charged_cost) AS charged, SUM(estimated) AS estimated
    FROM ledger_calls`,
)
const reserved = SqlClient.SqlClient.use((sql) => sql`SELECT id FROM budget_reservations`)

for (const [name, how, most, estimates] of FAULTS) {
  it.effect(`charges the budget what stands in the ledger if a provider ${name}`, () =>
    Effect.gen(function* () {
      yield* Effect.exit(call({ budgeted: budgeted("key") }))
      const [sums] = yield* charges
      assert.deepStrictEqual({ ...sums }, { charged: most, estimated: estimates })
      assert.strictEqual(yield* spentBy("key"), most)
      assert.deepStrictEqual(yield* reserved, [])
    }).pipe(
      Effect.provide(
        routing(
          new ScriptedUpstream([status("provider1"), status("provider2")], () =>
            typeof how === "string" ? broken(how) : how,
          ),
          settings(),
        ),
      ),
    ),
  )
}

it.effect("reserves again what a failover used, before it retries without a refused member", () => {
  const failed = new UpstreamError({
    code: "invalid-request",
    attempts: [
      attempt({ provider: "provider1", model: "large" }, { outcome: "truncated" }),
      attempt({ provider: "provider2", model: "small" }, { outcome: "invalid-request" }),
    ],
  })
  const upstream = new ScriptedUpstream([status("provider1"), status("provider2")], (_, index) =>
    index === 0 ? failed : { text: "ok" },
  )
  const asked = { ...completion(), max_tokens: 10, response_format: { type: "json_object" as const } }
  return Effect.gen(function* () {
    yield* call({ budgeted: budgeted("again"), completion: asked })
    assert.lengthOf(upstream.requests, 2)
  }).pipe(Effect.provide(routing(upstream, settings())))
})

it.effect("charges a cancelled call as reserved, and enters it in the ledger as an estimate", () =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(call({ budgeted: budgeted("key") }))
    yield* Effect.repeat(reserved, { until: (rows) => rows.length > 0 })
    yield* Effect.repeat(Effect.yieldNow, { times: 20 })
    yield* Fiber.interrupt(fiber)
    const [sums] = yield* charges
    assert.deepStrictEqual({ ...sums }, { charged: WORST, estimated: 1 })
    assert.strictEqual(yield* spentBy("key"), WORST)
    assert.deepStrictEqual(yield* reserved, [])
  }).pipe(Effect.provide(routing(upstreamOf({ hangs: true }), settings()))),
)
