import { assert, it } from "@effect/vitest"
import { Clock, Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Budget } from "../../../src/domain/access/budgets.ts"
import { layerBudgetRetention } from "../../../src/services/budgets/BudgetRetention.ts"
import { limitsOf } from "../../../src/services/budgets/limits.ts"
import { describeDatabases } from "../../support/databases.ts"
import { settableClock } from "../../support/settableClock.ts"

const JANUARY = Date.UTC(2026, 0, 1)
const FEBRUARY = Date.UTC(2026, 1, 1)
const DAY = Duration.toMillis("1 day")

/** Enters the use of a key's budgets in the periods that January begins. */
const enter = (key: string, reserved: number, ...periods: ReadonlyArray<Budget["per"]>) =>
  SqlClient.SqlClient.use((sql) =>
    Effect.forEach(
      limitsOf([{ owner: { kind: "key", id: key }, budgets: periods.map((per) => ({ per })) }], JANUARY),
      ({ owner, per, since }) =>
        sql`INSERT INTO budget_use VALUES (${owner}, ${per}, ${since}, 1, 1, 0, ${reserved}, 0, 0)`,
    ),
  )

const kept = Effect.map(
  SqlClient.SqlClient.use(
    (sql) => sql<{ owner: string; per: string }>`SELECT owner, per FROM budget_use ORDER BY owner, per`,
  ),
  (rows) => rows.map(({ owner, per }) => `${owner} per ${per}`),
)

describeDatabases("BudgetRetention", (database) => {
  /** Starts a process whose clock is at `now`. */
  const startAt = Effect.fnUntraced(function* (now: number) {
    const { clock, set } = yield* settableClock
    set.forward = now - clock.currentTimeMillisUnsafe()
    yield* Effect.provideService(Layer.build(layerBudgetRetention), Clock.Clock, clock)
  })

  it.live("removes the use of periods that are over, once no call holds a reservation", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* enter("a", 0, "hour", "day", "month", "total")
      yield* enter("b", 1, "hour")
      yield* startAt(FEBRUARY + DAY)
      const left = ["key:a per total", "key:b per hour"]
      yield* Effect.repeat(kept, { until: ({ length }) => length <= left.length })
      assert.deepStrictEqual(yield* kept, left)
      yield* sql`UPDATE budget_use SET reserved_tokens = 0`
      yield* startAt(FEBRUARY + DAY)
      yield* Effect.repeat(kept, { until: ({ length }) => length < left.length })
      assert.deepStrictEqual(yield* kept, ["key:a per total"])
    }).pipe(Effect.provide(database.layer)),
  )

  it.live("keeps the use of a month until it is over", () =>
    Effect.gen(function* () {
      yield* enter("a", 0, "month")
      // Its removal shows that the retention has run.
      yield* SqlClient.SqlClient.use(
        (sql) => sql`INSERT INTO budget_use VALUES ('key:old', 'day', 1, 1, 1, 0, 0, 0, 0)`,
      )
      yield* startAt(FEBRUARY - 1)
      yield* Effect.repeat(kept, { until: ({ length }) => length < 2 })
      assert.deepStrictEqual(yield* kept, ["key:a per month"])
    }).pipe(Effect.provide(database.layer)),
  )
})
