import { assert, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import type { Budget } from "../../../src/domain/access/budgets.ts"
import { Budgets } from "../../../src/services/routing/Budgets.ts"
import { describeDatabases } from "../../support/databases.ts"

const budgeted = (...budgets: ReadonlyArray<Budget>) => ({ owner: "key", budgets })
const used = (cost: number, tokens = 0) => ({ cost, tokens })

const stored = SqlClient.SqlClient.use(
  (sql) => sql<{ per: string; cost: number; tokens: number }>`SELECT per, cost, tokens FROM budget_use ORDER BY per`,
)

describeDatabases("budgets", (database) => {
  const test = <E>(name: string, body: Effect.Effect<void, E, Budgets | SqlClient.SqlClient>) =>
    it.effect(name, () => Effect.provide(body, Layer.provideMerge(Budgets.layer, database.layer)))

  it.effect("let exactly the affordable calls of 1,000 concurrent ones of three processes through", () =>
    Effect.gen(function* () {
      const layer = yield* database.create
      const open = Effect.map(Layer.build(Layer.fresh(Layer.provideMerge(Budgets.layer, layer))), (context) => context)
      // SQLite has one process per file.
      const processes = database.kind === "sqlite" ? [yield* open] : [yield* open, yield* open, yield* open]
      let calls = 0
      const whose = budgeted({ per: "day", max_cost_micro_usd: 1000 }, { per: "total", max_tokens: 10_000 })
      const one = (index: number) => {
        const context = processes[index % processes.length] ?? Context.empty()
        const call = Effect.sync(() => void calls++)
        return Effect.exit(
          Budgets.use((budgets) => budgets.within(whose, used(10, 50), call, () => used(10, 20))).pipe(
            Effect.provideContext(context as Context.Context<Budgets>), // Each has the service.
          ),
        )
      }
      const exits = yield* Effect.forEach(Array.from({ length: 1000 }).keys(), one, { concurrency: "unbounded" })
      assert.strictEqual(calls, 100)
      assert.strictEqual(exits.filter(Exit.isSuccess).length, 100)
      const [first = Context.empty()] = processes
      const rows = yield* Effect.provideContext(stored, first as Context.Context<SqlClient.SqlClient>) // As above.
      assert.deepStrictEqual(rows, [
        { per: "day", cost: 1000, tokens: 2000 },
        { per: "total", cost: 1000, tokens: 2000 },
      ])
    }),
  )

  test(
    "reserve nothing of a budget if another has too little left, and say which, how much and when it renews",
    Effect.gen(function* () {
      const budgets = yield* Budgets
      const whose = budgeted({ per: "hour", max_cost_micro_usd: 5 }, { per: "total", max_cost_micro_usd: 100 })
      yield* budgets.within(whose, used(4), Effect.void, () => used(3))
      const refused = yield* Effect.flip(budgets.within(whose, used(4), Effect.void, () => used(0)))
      assert.deepInclude(refused, {
        _tag: "BudgetExhausted",
        per: "hour",
        leftCost: 2,
        renewsAt: 3_600_000,
        status: 429,
      })
      assert.deepStrictEqual(
        (yield* stored).map(({ cost }) => cost),
        [3, 3],
      )
      yield* TestClock.adjust("1 hour")
      yield* budgets.within(whose, used(4), Effect.void, () => used(4))
    }),
  )

  test(
    "settle failed and interrupted calls at what they used",
    Effect.gen(function* () {
      const budgets = yield* Budgets
      const whose = budgeted({ per: "total", max_cost_micro_usd: 100 })
      yield* Effect.flip(budgets.within(whose, used(40), Effect.fail("broken"), () => used(7)))
      yield* Effect.exit(budgets.within(whose, used(40), Effect.interrupt, () => used(5)))
      assert.deepStrictEqual(
        (yield* stored).map(({ cost }) => cost),
        [12],
      )
      const refused = yield* Effect.flip(budgets.within(whose, used(89), Effect.void, () => used(0)))
      assert.deepInclude(refused, { per: "total", leftCost: 88, status: 402 })
    }),
  )
})
