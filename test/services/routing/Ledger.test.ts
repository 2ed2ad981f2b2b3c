import { assert, it } from "@effect/vitest"
import { DateTime, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { RoutingStatsReport } from "../../../src/domain/routing/savings.ts"
import { HOUR_MS } from "../../../src/services/routing/HourlySums.ts"
import { Ledger } from "../../../src/services/routing/Ledger.ts"
import { RoutingStats } from "../../../src/services/routing/RoutingStats.ts"
import { describeDatabases } from "../../support/databases.ts"
import { callRecord } from "./callRecords.ts"

describeDatabases("Ledger", (database) => {
  it.live("enters calls once if they are written again because the answer to the first commit was lost", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const sql = yield* SqlClient.SqlClient
      const calls = [callRecord({ job: "job", cost: 3 }), callRecord({ job: "job", cost: 4 })]
      yield* ledger.record(calls)
      yield* ledger.record(calls)
      yield* ledger.record([callRecord({ job: "job", cost: 5 })])
      const tokens = { input_tokens: 30, output_tokens: 15, cached_tokens: 0, charged_tokens: 45, charged_cost: 3 }
      assert.deepStrictEqual((yield* ledger.spent(["job"]))("job"), { calls: 3, unpriced: 0, ...tokens, cost: 12 })
      const sums = yield* sql<{ calls: number; cost: number }>`SELECT calls, cost FROM ledger_hours WHERE tenant = ''`
      assert.deepStrictEqual(
        sums.map(({ calls, cost }) => [calls, cost]),
        [[3, 12]],
      )
    }).pipe(Effect.provide(Layer.provideMerge(Ledger.layer, database.layer))),
  )

  it.live("caps the sums of a job and of an hour at the largest exact integer, in one write and in several", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const stats = yield* RoutingStats
      const most = Number.MAX_SAFE_INTEGER
      const charged = { tokens: most, cost: most }
      const huge = {
        job: "job",
        tokens: { input: most, output: most, cached: most },
        cost: most,
        baseline: most,
        charged,
      }
      const capped = { input_tokens: most, output_tokens: most, cached_tokens: most }
      // Two thousand of them are beyond 64 bits.
      for (const calls of [1, 1, 2000]) yield* ledger.record(Array.from({ length: calls }, () => callRecord(huge)))
      assert.deepStrictEqual((yield* ledger.spent(["job"]))("job"), {
        calls: 2002,
        unpriced: 0,
        ...capped,
        cost: most,
        charged_tokens: most,
        charged_cost: most,
      })
      // A whole hour, which is answered from the sums, and a part, which is added up from the calls.
      for (const to of [HOUR_MS, 1]) {
        const query = { from: DateTime.makeUnsafe(0), to: DateTime.makeUnsafe(to), interval: "hour" as const }
        const report = yield* stats.report(query)
        const sums = {
          calls: 2002,
          ...capped,
          actual_micro_usd: most,
          compared_micro_usd: most,
          baseline_micro_usd: most,
          saved_micro_usd: 0,
        }
        assert.deepInclude(report, sums)
        assert.deepInclude(report.over_time?.[0], sums)
        Schema.encodeSync(RoutingStatsReport)(report)
      }
    }).pipe(Effect.provide(Layer.mergeAll(Ledger.layer, RoutingStats.layer).pipe(Layer.provideMerge(database.layer)))),
  )
})
