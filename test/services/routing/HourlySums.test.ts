import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { Strategy } from "../../../src/domain/routing.ts"
import { HOUR_MS } from "../../../src/services/routing/HourlySums.ts"
import { Ledger } from "../../../src/services/routing/Ledger.ts"
import { RoutingStats } from "../../../src/services/routing/RoutingStats.ts"
import { describeDatabases } from "../../support/databases.ts"
import { callRecord } from "./callRecords.ts"

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
  outcome: Schema.Literals(["success", "timeout", "interrupted"]),
})
const Calls = Schema.Array(Schema.Array(Call).check(Schema.isMaxLength(4))).check(Schema.isMaxLength(12))

describeDatabases("the hourly sums", (database) => {
  layer(Layer.mergeAll(Ledger.layer, RoutingStats.layer).pipe(Layer.provide(database.layer)))((it) => {
    it.effect.prop(
      "say the same as the ledger itself, whatever the calls and the span",
      [Calls, Moment, Moment],
      ([requests, a, b]) =>
        Effect.gen(function* () {
          const ledger = yield* Ledger
          const stats = yield* RoutingStats
          const tenant = SecureRandom.uuidV7Unsafe()
          yield* Effect.forEach(requests, (calls) =>
            ledger.record(calls.map((call) => callRecord({ ...call, tenant }))),
          )
          const query = { from: DateTime.makeUnsafe(Math.min(a, b)), to: DateTime.makeUnsafe(Math.max(a, b)) }
          assert.deepStrictEqual(
            yield* stats.report({ ...query, tenant }),
            yield* stats.reportFromCalls({ ...query, tenant }),
          )
          assert.deepStrictEqual(yield* stats.report(query), yield* stats.reportFromCalls(query))
        }),
      { arbitrary: { runs: 40 } },
    )
  })
})
