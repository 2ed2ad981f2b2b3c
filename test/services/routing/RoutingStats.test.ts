import { assert, it } from "@effect/vitest"
import { DateTime, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { METHOD, RoutingStatsReport } from "../../../src/domain/routing/savings.ts"
import { HOUR_MS } from "../../../src/services/routing/HourlySums.ts"
import { Ledger } from "../../../src/services/routing/Ledger.ts"
import { PRICE_TABLE } from "../../../src/services/routing/PriceTable.ts"
import { RoutingStats } from "../../../src/services/routing/RoutingStats.ts"
import { describeDatabases } from "../../support/databases.ts"
import { callRecord } from "./callRecords.ts"

const BASE = 500_000 * HOUR_MS

const span = (from: number, to: number, tenant?: string) => ({
  from: DateTime.makeUnsafe(from),
  to: DateTime.makeUnsafe(to),
  ...(tenant === undefined ? {} : { tenant }),
})

describeDatabases("RoutingStats", (database) => {
  const services = Layer.mergeAll(Ledger.layer, RoutingStats.layer).pipe(Layer.provideMerge(database.layer))
  const test = <E>(name: string, body: Effect.Effect<void, E, Ledger | RoutingStats | SqlClient.SqlClient>) =>
    it.live(name, () => Effect.provide(body, services))

  test(
    "adds up a worked example",
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const stats = yield* RoutingStats
      // Prices in USD per million: small 1 in, 4 out, 0.10 cached; large (the baseline) 10 in, 40 out, 1 cached;
      // dear 20 in, 80 out, 2 cached; odd has no price.
      yield* ledger.record([
        // Request 1, adversarial: the provider was busy, the retry served. 1,000 in, 800 of them cached, 100 out:
        // 200 × 1 + 800 × 0.1 + 100 × 4 = 680; baseline 200 × 10 + 800 × 1 + 100 × 40 = 6,800.
        callRecord({
          requestId: "1",
          at: BASE + 5,
          mode: "adversarial",
          outcome: "rate-limited",
          tokens: { input: 0, output: 0, cached: 0 },
          cost: 0,
          baseline: 0,
        }),
        callRecord({
          requestId: "1",
          first: false,
          at: BASE + 6,
          mode: "adversarial",
          tokens: { input: 1000, output: 100, cached: 800 },
          cost: 680,
          baseline: 6800,
        }),
      ])
      // Request 2, verified: broke off after 500 in, 50 out (700, wasted), then another target served 500 in, 200 out
      // at the baseline's own price: 500 × 10 + 200 × 40 = 13,000 against 13,000.
      yield* ledger.record([
        callRecord({
          requestId: "2",
          at: BASE + HOUR_MS,
          mode: "verified",
          outcome: "truncated",
          tokens: { input: 500, output: 50, cached: 0 },
          cost: 700,
          baseline: 0,
        }),
        callRecord({
          requestId: "2",
          first: false,
          at: BASE + HOUR_MS + 1,
          mode: "verified",
          model: "large",
          tokens: { input: 500, output: 200, cached: 0 },
          cost: 13_000,
          baseline: 13_000,
        }),
      ])
      // Request 3, verified: dear, 100 in, 100 out: 100 × 20 + 100 × 80 = 10,000 against 100 × 10 + 100 × 40 = 5,000.
      // Request 4, outside a job: odd, so neither its cost nor a saving is known.
      yield* ledger.record([
        callRecord({
          at: BASE + 2 * HOUR_MS,
          mode: "verified",
          strategy: "quality",
          provider: "provider3",
          model: "dear",
          tokens: { input: 100, output: 100, cached: 0 },
          cost: 10_000,
          baseline: 5000,
        }),
        callRecord({
          at: BASE + 2 * HOUR_MS,
          model: "odd",
          tokens: { input: 70, output: 7, cached: 0 },
          priceVersion: null,
          cost: null,
          baseline: 980,
        }),
      ])

      const query = span(BASE, BASE + 3 * HOUR_MS, "acme")
      const report = yield* stats.report(query)
      const total = {
        requests: 4,
        calls: 6,
        failed_calls: 2,
        input_tokens: 1000 + 500 + 500 + 100 + 70,
        output_tokens: 100 + 50 + 200 + 100 + 7,
        cached_tokens: 800,
        actual_micro_usd: 680 + 700 + 13_000 + 10_000,
        compared_micro_usd: 24_380,
        baseline_micro_usd: 6800 + 13_000 + 5000,
        saved_micro_usd: 420,
        // 420 / 24,800
        saved_percent: 1.69,
        unpriced_calls: 1,
        // Four successful calls in the class of 0 to 100 ms.
        latency_p50_ms: 50,
        latency_p95_ms: 95,
      }
      const { by_mode, by_provider_model, by_strategy, ...rest } = report
      assert.deepStrictEqual(rest, {
        from: query.from,
        to: query.to,
        ...total,
        price_table: PRICE_TABLE,
        method: METHOD,
      })
      assert.deepStrictEqual(
        by_provider_model.map((entry) => [
          entry.provider,
          entry.model,
          entry.calls,
          entry.actual_micro_usd,
          entry.saved_micro_usd,
          entry.saved_percent,
          entry.unpriced_calls,
        ]),
        [
          ["provider1", "large", 1, 13_000, 0, 0, 0],
          ["provider3", "dear", 1, 10_000, -5000, -100, 0],
          ["provider1", "small", 3, 1380, 5420, 79.71, 0],
          ["provider1", "odd", 1, 0, 0, null, 1],
        ],
      )
      assert.deepStrictEqual(
        by_mode.map((entry) => [entry.mode, entry.requests, entry.actual_micro_usd, entry.saved_micro_usd]),
        [
          ["verified", 2, 23_700, -5700],
          ["adversarial", 1, 680, 6120],
          [null, 1, 0, 0],
        ],
      )
      assert.deepStrictEqual(
        by_strategy.map((entry) => [entry.strategy, entry.requests, entry.saved_micro_usd]),
        [
          ["cost", 3, 5420],
          ["quality", 1, -5000],
        ],
      )
      yield* Schema.encodeEffect(RoutingStatsReport)(report)
    }),
  )

  test(
    "enters all rows of a request with their sums, or nothing",
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const sql = yield* SqlClient.SqlClient
      yield* sql`ALTER TABLE ledger_hours RENAME TO out_of_reach`
      yield* Effect.flip(ledger.record([callRecord({ at: BASE })]))
      yield* sql`ALTER TABLE out_of_reach RENAME TO ledger_hours`
      const row = callRecord({ at: BASE })
      yield* Effect.flip(ledger.record([callRecord({ at: BASE }), row, row]))
      const report = yield* (yield* RoutingStats).report(span(BASE, BASE + HOUR_MS))
      assert.strictEqual(report.calls, 0)
      assert.strictEqual((yield* sql`SELECT id FROM ledger_calls`).length, 0)
    }),
  )

  test(
    "loses nothing when many calls end at the same time",
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const rows = Array.from({ length: 60 }, (_, i) => [
        callRecord({ at: BASE + i, model: i % 2 === 0 ? "small" : "large", tenant: `tenant-${i % 3}` }),
        callRecord({ at: BASE + i, model: i % 2 === 0 ? "large" : "small", tenant: `tenant-${i % 3}` }),
      ])
      yield* Effect.forEach(rows, ledger.record, { concurrency: "unbounded" })
      const report = yield* (yield* RoutingStats).report(span(BASE, BASE + HOUR_MS))
      assert.deepInclude(report, { calls: 120, actual_micro_usd: 120, baseline_micro_usd: 240 })
    }),
  )

  test(
    "sums a job's usage, failed and unpriced calls included",
    Effect.gen(function* () {
      const ledger = yield* Ledger
      yield* ledger.record([
        callRecord({ job: "job-1", cost: 7 }),
        callRecord({ job: "job-1", cost: 5, outcome: "truncated" }),
        callRecord({
          job: "job-1",
          cost: null,
          tokens: null,
          outcome: "interrupted",
          charged: { tokens: 1000, cost: 90 },
        }),
        callRecord({ job: "job-2" }),
      ])
      const spent = yield* ledger.spent(["job-1", "job-3"])
      const tokens = { input_tokens: 20, output_tokens: 10, cached_tokens: 0, charged_tokens: 1030, charged_cost: 92 }
      assert.deepStrictEqual(spent("job-1"), { calls: 3, unpriced: 1, ...tokens, cost: 12 })
      const none = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, charged_tokens: 0, charged_cost: 0 }
      assert.deepStrictEqual(spent("job-3"), { calls: 0, unpriced: 0, ...none, cost: 0 })
    }),
  )
})
