import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { Strategy } from "../../../src/domain/routing/routing.ts"
import type { CallRecord } from "../../../src/services/routing/CallRecord.ts"
import { HOUR_MS } from "../../../src/services/routing/HourlySums.ts"
import { Ledger } from "../../../src/services/routing/Ledger.ts"
import { RoutingStats } from "../../../src/services/routing/RoutingStats.ts"
import { describeDatabases } from "../../support/databases.ts"
import { callRecord } from "./callRecords.ts"
import { reportOf } from "./reportOf.ts"

const BASE = 500_000 * HOUR_MS
const HOURS = 4

const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))
const Moment = Schema.Int.check(Schema.isBetween({ minimum: BASE, maximum: BASE + HOURS * HOUR_MS }))
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
      "equal the sums over the calls for any calls and span",
      [Calls, Moment, Moment],
      ([requests, a, b]) =>
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
          }
        }),
      { arbitrary: { runs: 40 } },
    )
  })
})
