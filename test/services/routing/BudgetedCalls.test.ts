/** Calls of the router within the budgets of a key. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { call, routing, settings, target } from "./RouterFixture.ts"
import { type Reply, ScriptedUpstream, status, usage } from "./ScriptedUpstream.ts"

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

it.effect("charges what a provider reports, and what was reserved if it reports nothing", () =>
  Effect.gen(function* () {
    yield* Effect.provide(
      Effect.gen(function* () {
        yield* call({ budgeted: budgeted("reports") })
        assert.strictEqual(yield* spentBy("reports"), 1400)
      }),
      routing(upstreamOf({ usage: usage(100, 10) }), settings()),
    )
    yield* Effect.provide(
      Effect.gen(function* () {
        yield* call({ budgeted: budgeted("silent") })
        assert.strictEqual(yield* spentBy("silent"), WORST)
        const refused = yield* Effect.flip(call({ budgeted: budgeted("silent") }))
        assert.deepInclude(refused, { _tag: "BudgetExhausted", leftCost: 400_000 - WORST })
      }),
      routing(upstreamOf({ usage: null }), settings()),
    )
  }),
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
