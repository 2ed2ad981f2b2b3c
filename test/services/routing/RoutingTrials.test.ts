import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Ledger } from "../../../src/services/routing/Ledger.ts"
import { RoutingConfig } from "../../../src/services/routing/RoutingConfig.ts"
import { RoutingTrials } from "../../../src/services/routing/RoutingTrials.ts"
import { describeDatabases } from "../../support/databases.ts"
import { callRecord } from "./callRecords.ts"
import { drawing, prices, settings, target } from "./RouterFixture.ts"
import { ScriptedUpstream, status } from "./ScriptedUpstream.ts"

const HOUR_MS = 3_600_000

describeDatabases("RoutingTrials", (database) => {
  const test = <E>(name: string, body: Effect.Effect<void, E, Ledger | RoutingTrials>) =>
    it.live(name, () =>
      body.pipe(
        Effect.provide(
          Layer.merge(RoutingTrials.layer, Ledger.layer).pipe(
            Layer.provideMerge(RoutingConfig.layer()),
            Layer.provideMerge(
              Layer.merge(new ScriptedUpstream([status("provider1"), status("provider2")]).layer, database.layer),
            ),
          ),
        ),
      ),
    )

  /** A thousand tokens in cost 1,000 at 1 USD per million and 10,000 at ten, the other way round for those that come back. */
  const reader = target("provider1/reader", { prices: prices(1, 10), max_context_tokens: 3000 })
  const writer = target("provider2/writer", { prices: prices(10, 1) })
  const reading = { input: 1000, output: 100, cached: 0 }
  const writing = { input: 100, output: 1000, cached: 0 }

  test(
    "gives every call of the last day to the target that would be tried first, at its price",
    Effect.gen(function* () {
      const now = Date.now()
      const ledger = yield* Ledger
      const call = (members: Parameters<typeof callRecord>[0]) =>
        callRecord({ at: now - HOUR_MS, provider: "provider2", model: "writer", cost: 5000, ...members })
      yield* ledger.record([
        call({ tokens: reading, tenant: "umbrella" }),
        call({ tokens: writing }),
        // Too long for the one that would be cheaper.
        call({ tokens: { input: 5000, output: 100, cached: 0 } }),
        // The filter of its role leaves the dear one alone.
        call({ tokens: reading, role: "judge" }),
        call({ tokens: writing, cost: null }),
        // Not tried: it failed, its tokens are unknown, it was the day before.
        call({ tokens: reading, outcome: "timeout" }),
        call({ tokens: null }),
        call({ tokens: reading, at: now - 25 * HOUR_MS }),
      ])
      const { method, ...trial } = yield* RoutingTrials.use(({ run }) =>
        run(
          settings({
            strategy: "cost",
            baseline: writer,
            targets: [reader, writer],
            roles: { judge: { deny: ["reader"] } },
          }),
        ),
      )
      assert.include(method, "would try first")
      assert.deepInclude(trial, {
        tried_calls: 5,
        other_calls: 2,
        unpriced_calls: 1,
        unserved_calls: 0,
        actual_micro_usd: 20_000,
        // 1,000 + 1,000 at the reader; 1,000 + 1,000 at the writer, 50,000 + 100, and 10,000 + 100 for the judge.
        trial_micro_usd: 2000 + 2000 + 50_100 + 10_100,
        by_target: [
          { provider: "provider1", model: "reader", actual_calls: 0, trial_calls: 1, trial_micro_usd: 2000 },
          { provider: "provider2", model: "writer", actual_calls: 5, trial_calls: 4, trial_micro_usd: 62_200 },
        ],
      })
    }),
  )

  test(
    "orders by the times to the first token of these calls where the strategy is latency",
    Effect.gen(function* () {
      const slow = { provider: "provider1", model: "reader", ttft: 500 } as const
      const fast = { provider: "provider2", model: "writer", ttft: 100 } as const
      const at = Date.now() - 1000
      yield* Ledger.use(({ record }) =>
        record([slow, slow, slow, fast, fast, fast].map((call) => callRecord({ at, tokens: reading, ...call }))),
      )
      const tried = (first: typeof reader, second: typeof reader) =>
        RoutingTrials.use(({ run }) =>
          run(settings({ strategy: "latency", baseline: writer, targets: [first, second] })),
        )
      for (const { by_target } of [yield* tried(reader, writer), yield* tried(writer, reader)]) {
        const calls = by_target.map(({ model, trial_calls }) => [model, trial_calls])
        assert.sameDeepMembers(calls, [
          ["reader", 0],
          ["writer", 6],
        ])
      }
    }).pipe(drawing(0.5)),
  )

  test(
    "counts what nobody would take, refuses what cannot work, and changes nothing",
    Effect.gen(function* () {
      const trials = yield* RoutingTrials
      yield* Ledger.use(({ record }) =>
        record([callRecord({ at: Date.now() - 1000, tokens: { input: 4000, output: 1, cached: 0 } })]),
      )
      const now = Date.now() - 1000
      const small = yield* trials.run(settings({ strategy: "fallback", baseline: reader, targets: [reader] }))
      assert.deepInclude(small, { tried_calls: 1, unserved_calls: 1, actual_micro_usd: 0, trial_micro_usd: 0 })
      // Two more, of which one fills the context of 3,000 tokens with its answer, and the other exceeds it.
      const full = { input: 2900, output: 100, cached: 900 }
      yield* Ledger.use(({ record }) =>
        record([callRecord({ at: now, tokens: full }), callRecord({ at: now, tokens: { ...full, output: 101 } })]),
      )
      const cached = { ...reader, prices: prices(1, 10, 0) }
      const more = yield* trials.run(settings({ strategy: "fallback", baseline: cached, targets: [cached] }))
      assert.deepInclude(more, { tried_calls: 3, unserved_calls: 2, trial_micro_usd: 2000 + 1000 })
      const refused = yield* Effect.flip(trials.run(settings({ strategy: "quality", targets: [reader] })))
      assert.strictEqual(refused._tag, "RoutingSettingsInvalid")
    }),
  )
})
