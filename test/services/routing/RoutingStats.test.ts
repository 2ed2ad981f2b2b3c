import { assert, it, layer } from "@effect/vitest"
import { DateTime, Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { Interval } from "../../../src/domain/routing/intervals.ts"
import { METHOD, RoutingStatsReport } from "../../../src/domain/routing/savings.ts"
import { HOUR_MS } from "../../../src/services/routing/HourlySums.ts"
import { Ledger } from "../../../src/services/routing/Ledger.ts"
import { PRICE_TABLE } from "../../../src/services/routing/PriceTable.ts"
import { RoutingStats } from "../../../src/services/routing/RoutingStats.ts"
import { describeDatabases } from "../../support/databases.ts"
import { callRecord } from "./callRecords.ts"
import { reportOf } from "./reportOf.ts"

const BASE = 500_000 * HOUR_MS
const DAY_MS = 24 * HOUR_MS
/** Half an hour before midnight UTC, so that spans after it begin within an hour and cross days. */
const EVENING = 20_000 * DAY_MS - HOUR_MS / 2
const Moment = Schema.Int.check(Schema.isBetween({ minimum: EVENING, maximum: EVENING + 50 * HOUR_MS }))
const Amount = Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 })))
const Call = Schema.Struct({
  at: Moment,
  model: Schema.Literals(["small", "large"]),
  cost: Amount,
  baseline: Amount,
  outcome: Schema.Literals(["success", "timeout"]),
})
const Calls = Schema.Array(Call).check(Schema.isMaxLength(30))

const iso = (time: DateTime.Utc) => DateTime.formatIso(time)

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
    "divides a span into UTC hours or days, with partial ones at its ends",
    Effect.gen(function* () {
      const midnight = 20_000 * DAY_MS
      yield* (yield* Ledger).record([
        callRecord({ at: EVENING - 1, cost: 1000 }),
        callRecord({ at: EVENING, cost: 1 }),
        callRecord({ at: midnight - 1, cost: 2 }),
        callRecord({ at: midnight, cost: 4, model: "large" }),
        callRecord({ at: midnight + HOUR_MS, cost: 8, baseline: 3 }),
        callRecord({ at: midnight + DAY_MS, cost: 16, tenant: "umbrella" }),
        callRecord({ at: midnight + DAY_MS, cost: 32, outcome: "timeout" }),
        callRecord({ at: midnight + DAY_MS + 10, cost: 1000 }),
      ])
      const stats = yield* RoutingStats
      const query = span(EVENING, midnight + DAY_MS + 10, "acme")
      const days = yield* stats.report({ ...query, interval: "day" })
      assert.deepStrictEqual(
        days.over_time?.map((part) => [
          iso(part.from),
          iso(part.to),
          part.calls,
          part.failed_calls,
          part.actual_micro_usd,
          part.saved_micro_usd,
        ]),
        [
          ["2024-10-03T23:30:00.000Z", "2024-10-04T00:00:00.000Z", 2, 0, 3, 1],
          ["2024-10-04T00:00:00.000Z", "2024-10-05T00:00:00.000Z", 2, 0, 12, -7],
          ["2024-10-05T00:00:00.000Z", "2024-10-05T00:00:00.010Z", 1, 1, 32, -30],
        ],
      )
      const hours = yield* stats.report({ ...query, interval: "hour" })
      assert.deepStrictEqual(
        hours.over_time?.map((part) => part.actual_micro_usd),
        [3, 4, 8, ...Array.from({ length: 22 }, () => 0), 32],
      )
      assert.isNull(hours.over_time?.at(5)?.saved_percent)
      assert.notProperty(yield* stats.report(query), "over_time")
      const all = yield* stats.report({ ...query, tenant: undefined, interval: "day" })
      assert.deepStrictEqual(
        all.over_time?.map((part) => part.actual_micro_usd),
        [3, 12, 48],
      )
      const minute = span(midnight + HOUR_MS, midnight + HOUR_MS + 60_000, "acme")
      const [one, ...none] = (yield* stats.report({ ...minute, interval: "day" })).over_time ?? []
      assert.deepInclude(one, { ...span(midnight + HOUR_MS, midnight + HOUR_MS + 60_000), actual_micro_usd: 8 })
      assert.deepStrictEqual(none, [])
      yield* Schema.encodeEffect(RoutingStatsReport)(hours)
    }),
  )

  layer(services)((it) => {
    it.effect.prop(
      "has exact sums in every interval, which add up to the whole",
      [Calls, Moment, Moment, Interval],
      ([calls, a, b, interval]) =>
        Effect.gen(function* () {
          const stats = yield* RoutingStats
          const tenant = SecureRandom.uuidV7Unsafe()
          const records = calls.map((call) => callRecord({ ...call, tenant }))
          yield* (yield* Ledger).record(records)
          const query = span(Math.min(a, b), Math.max(a, b), tenant)
          const { over_time = [], ...whole } = yield* stats.report({ ...query, interval })
          assert.deepStrictEqual(whole, yield* stats.report(query))

          let end = query.from
          const total = { calls: 0, actual_micro_usd: 0, baseline_micro_usd: 0, saved_micro_usd: 0, unpriced_calls: 0 }
          for (const part of over_time) {
            assert.deepStrictEqual(part.from, end)
            end = part.to
            assert.deepInclude(reportOf(records, part), part)
            // The keys are those of `total` itself.
            for (const name of Object.keys(total) as Array<keyof typeof total>) total[name] += part[name]
          }
          assert.deepStrictEqual(end, query.to)
          assert.deepInclude(whole, total)
        }),
      { arbitrary: { runs: 25 } },
    )
  })

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
