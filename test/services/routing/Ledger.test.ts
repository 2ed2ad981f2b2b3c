import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Ledger } from "../../../src/services/routing/Ledger.ts"
import { describeDatabases } from "../../support/databases.ts"
import { callRecord } from "./callRecords.ts"

describeDatabases("Ledger", (database) => {
  it.live("enters calls once, also when they are written again because the answer to the first commit was lost", () =>
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
})
