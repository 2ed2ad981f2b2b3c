import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { Interval } from "../../../src/domain/routing/intervals.ts"
import { Strategy } from "../../../src/domain/routing/routing.ts"
import type { CallRecord } from "../../../src/services/routing/CallRecord.ts"
import { HOUR_MS } from "../../../src/services/routing/HourlySums.ts"
import { Ledger } from "../../../src/services/routing/Ledger.ts"
import { RoutingStats } from "../../../src/services/routing/RoutingStats.ts"
import { describeDatabases } from "../../support/databases.ts"
import { callRecord } from "./callRecords.ts"
import { reportOf } from "./reportOf.ts"

const MIDNIGHT = 20_000 * 24 * HOUR_MS
/** Half an hour before midnight UTC, so that spans after it begin within an hour and cross days. */
const EVENING = MIDNIGHT - HOUR_MS / 2
const HOURS = 30

const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))
const Moment = Schema.Union([
  Schema.Int.check(Schema.isBetween({ minimum: EVENING, maximum: EVENING + HOURS * HOUR_MS })),
  Schema.Literals([MIDNIGHT - 1, MIDNIGHT]),
])
const Call = Schema.Struct({
  at: Moment,
  first: Schema.Boolean,
  mode: Schema.NullOr(Schema.Literals(["adversarial", "verified"])),
  strategy: Strategy,
  provider: Schema.Literals(["provider1", "provider3"]),
  model: Schema.Literals(["small", "large"]),
  tokens: Schema.NullOr(Schema.Struct({ input: Count, output: Count, cached: Count })),
  cost: Schema.NullOr(Count),
  baseline: Schema.NullOr(Count),
  latency: Schema.Literals([0, 100, 101, 400, 119_999, 120_001]),
  outcome: Schema.Literals(["success", "timeout", "interrupted"]),
})
const Calls = Schema.Array(Schema.Array(Call).check(Schema.isMaxLength(4))).check(Schema.isMaxLength(12))

describeDatabases("the hourly sums", (database) => {
  layer(Layer.mergeAll(Ledger.layer, RoutingStats.layer).pipe(Layer.provide(database.layer)))((it) => {
    /** Shared by all runs, because they write into one database. */
    const all: Array<CallRecord> = []

    it.effect.prop(
      "equal the sums over the calls for any calls, span and interval",
      [Calls, Moment, Moment, Interval],
      ([requests, a, b, interval]) =>
        Effect.gen(function* () {
          const ledger = yield* Ledger
          const stats = yield* RoutingStats
          const tenant = SecureRandom.uuidV7Unsafe()
          const records = requests.map((calls) => calls.map((call) => callRecord({ ...call, tenant })))
          yield* Effect.forEach(records, ledger.record)
          all.push(...records.flat())
          const query = { from: DateTime.makeUnsafe(Math.min(a, b)), to: DateTime.makeUnsafe(Math.max(a, b)) }
          for (const asked of [{ ...query, tenant }, query]) {
            assert.deepStrictEqual(yield* stats.report(asked), reportOf(all, asked))
            const { over_time = [], ...whole } = yield* stats.report({ ...asked, interval })
            assert.deepStrictEqual(whole, reportOf(all, asked))
            let end = query.from
            for (const part of over_time) {
              assert.deepStrictEqual(part.from, end)
              end = part.to
              assert.deepInclude(reportOf(all, { ...asked, ...part }), part)
            }
            assert.deepStrictEqual(end, query.to)
          }
        }),
      { arbitrary: { runs: 40 } },
    )
  })
})
