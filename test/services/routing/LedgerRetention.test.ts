import { assert, it } from "@effect/vitest"
import { Array, Clock, DateTime, Duration, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { HOUR_MS } from "../../../src/services/routing/HourlySums.ts"
import { Ledger } from "../../../src/services/routing/Ledger.ts"
import { layerLedgerRetention, pruneLedger } from "../../../src/services/routing/LedgerRetention.ts"
import { RoutingStats } from "../../../src/services/routing/RoutingStats.ts"
import { describeDatabases } from "../../support/databases.ts"
import * as jobs from "../../support/jobs.ts"
import { settableClock } from "../../support/settableClock.ts"
import { callRecord } from "./callRecords.ts"

const at = (ms: number) => DateTime.makeUnsafe(ms)

describeDatabases("LedgerRetention", (database) => {
  const services = Layer.mergeAll(Ledger.layer, RoutingStats.layer).pipe(Layer.provideMerge(database.layer))

  const kept = SqlClient.SqlClient.use(
    (sql) => sql<{ at: number; id: string }>`SELECT at, id FROM ledger_calls ORDER BY at, id`,
  )

  it.effect("removes all calls of the hours before the cutoff, in batches, and none later", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      yield* ledger.record(Array.makeBy(700, (i) => callRecord({ at: Math.floor(i / 10) })))
      yield* ledger.record([
        callRecord({ at: HOUR_MS - 1 }),
        callRecord({ at: HOUR_MS }),
        callRecord({ at: 2 * HOUR_MS }),
      ])
      const pruning = yield* Effect.forkChild(pruneLedger(2 * HOUR_MS - 1))
      // Each pause is one of the clock.
      while (pruning.pollUnsafe() === undefined) yield* Effect.andThen(Effect.yieldNow, TestClock.adjust("25 millis"))
      yield* Fiber.join(pruning)
      assert.deepStrictEqual(
        (yield* kept).map(({ at }) => at),
        [HOUR_MS, 2 * HOUR_MS],
      )
    }).pipe(Effect.provide(services)),
  )

  it.live("keeps recent calls if the clock of this process is years ahead", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const now = yield* Clock.currentTimeMillis
      yield* ledger.record([callRecord({ at: 0 }), callRecord({ at: now })])
      const { clock, set } = yield* settableClock
      set.forward = Duration.toMillis("1000 days")
      yield* Effect.provideService(Layer.build(layerLedgerRetention({ days: 1 })), Clock.Clock, clock)
      yield* Effect.repeat(kept, { until: (rows) => rows[0]?.at !== 0 })
      assert.deepStrictEqual(
        (yield* kept).map(({ at }) => at),
        [now],
      )
    }).pipe(Effect.provide(services)),
  )

  it.effect("keeps the calls of jobs that exist", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const { id } = (yield* jobs.enqueueOne()).job
      yield* ledger.record([callRecord({ job: id, cost: 7 }), callRecord({ job: "gone" }), callRecord({})])
      yield* pruneLedger(HOUR_MS)
      assert.lengthOf(yield* kept, 1)
      assert.strictEqual((yield* ledger.spent([id]))(id).cost, 7)
    }).pipe(Effect.provide(jobs.services(database.layer))),
  )

  it.effect("leaves statistics as they were, of whole hours where calls are gone", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const stats = yield* RoutingStats
      yield* ledger.record([0.5, 1.5, 2.5, 3.25, 3.75].map((hour) => callRecord({ at: hour * HOUR_MS, cost: 3 })))
      const of = (from: number, to: number) =>
        Effect.map(
          stats.report({ from: at(from * HOUR_MS), to: at(to * HOUR_MS), interval: "hour" }),
          ({ calls, from, over_time = [], to }) => ({
            calls,
            hours: [from, to].map((time) => DateTime.toEpochMillis(time) / HOUR_MS),
            over_time: over_time.map((part) => part.calls),
          }),
        )
      const before = { calls: 5, hours: [0, 4], over_time: [1, 1, 1, 2] }
      assert.deepStrictEqual(yield* of(0, 4), before)
      yield* pruneLedger(2 * HOUR_MS)
      assert.deepStrictEqual(yield* of(0, 4), before)
      assert.deepStrictEqual(yield* of(0.75, 3.5), { calls: 4, hours: [0, 3.5], over_time: [1, 1, 1, 1] })
      assert.deepStrictEqual(yield* of(0.75, 1.25), { calls: 2, hours: [0, 2], over_time: [1, 1] })
      assert.deepStrictEqual(yield* of(3.5, 4), { calls: 1, hours: [3.5, 4], over_time: [1] })
      // A shorter cutoff later does not bring calls back.
      yield* pruneLedger(HOUR_MS)
      assert.deepStrictEqual(yield* of(0.75, 1.25), { calls: 2, hours: [0, 2], over_time: [1, 1] })
    }).pipe(Effect.provide(services)),
  )
})
