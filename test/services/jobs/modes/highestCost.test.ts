import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { JobOptions, Mode } from "../../../../src/domain/jobs/modes.ts"
import type { RoutingSettings } from "../../../../src/domain/routing/routing.ts"
import * as Modes from "../../../../src/services/jobs/modes/ModePrograms.ts"
import { CostBound } from "../../../../src/services/jobs/CostBound.ts"
import { prices, routing, settings, target } from "../../routing/RouterFixture.ts"
import { ScriptedUpstream, status } from "../../routing/ScriptedUpstream.ts"
import { contextOf, debating, type JobOf, kindOf, verifying } from "./ModeFixture.ts"

const boundOf = (job: Omit<JobOf, "steps">, input: Partial<RoutingSettings> = {}) =>
  Effect.flatMap(CostBound, (bound) => bound(contextOf(job, new Map()))).pipe(
    Effect.provide(
      Modes.layerCostBound.pipe(
        Layer.provide(routing(new ScriptedUpstream([status("provider1"), status("provider2")]), settings(input))),
      ),
    ),
    Effect.orDie,
  )

const one = { targets: [target("provider1/large", { prices: prices(1, 10), max_context_tokens: 1000 })] }

describe("highestCost", () => {
  it.effect("is the sum of all calls, each as long as the context of the dearest model", () =>
    Effect.gen(function* () {
      const bound = yield* boundOf({ mode: "verified", options: { effort: "low" }, task: "x" }, one)
      // A draft, two samples and two comparisons that are asked for twice; 5 tokens in and 995 out.
      assert.deepStrictEqual(bound, { calls: 1 + 2 + 4, cost_micro_usd: 7 * (5 + 9950) })
    }),
  )

  it.effect("is bounded by the agent's limits, and unknown without a price", () =>
    Effect.gen(function* () {
      const mode = "adversarial"
      const limited = yield* boundOf({ mode, task: "x", limits: { max_cost_micro_usd: 100 } }, one)
      assert.strictEqual(limited?.cost_micro_usd, 100)
      const free = { targets: [target("provider1/large", { prices: prices(0, 0) })] }
      assert.strictEqual((yield* boundOf({ mode, task: "x" }, free))?.cost_micro_usd, 0)
      const few = yield* boundOf({ mode, task: "x", limits: { max_calls: 2 } }, one)
      assert.deepStrictEqual(few, { calls: 2, cost_micro_usd: 2 * 9955 })
      const unpriced = { targets: [...one.targets, target("provider2/unpriced")] }
      assert.isNull((yield* boundOf({ mode, task: "x" }, unpriced))?.cost_micro_usd)
      // A limit of cost keeps calls away from models without a price.
      const safe = yield* boundOf({ mode, task: "x", limits: { max_cost_micro_usd: 100 } }, unpriced)
      assert.strictEqual(safe?.cost_micro_usd, 100)
    }),
  )

  const garbled = "No JSON."
  const stubborn = {
    propose: (_: unknown, index: number) => `answer ${index}`,
    critique: (_: unknown, index: number) =>
      JSON.stringify({ resolved: [], objections: [{ claim: `${index}`, evidence: "", severity: "major" }] }),
    respond: { replies: [{ objection: 1, action: "rebut", text: "no" }], answer: "x" },
    judge: { verdict: "sound", resolved: [], confidence: 1 },
    compare: garbled,
    "compare-repair": { same_as: null },
    questions: garbled,
    "questions-repair": { questions: ["a?", "b?", "c?"] },
    answer: "c",
    reconcile: garbled,
    "reconcile-repair": { checks: [], right: null },
    correct: "another",
  }
  it.effect.each<readonly [Mode, JobOptions]>([
    ["adversarial", { effort: "low" }],
    ["adversarial", { effort: "high" }],
    ["verified", { effort: "low" }],
    ["verified", { effort: "high" }],
  ])("is not exceeded by models that make %s as long as they can: %j", ([mode, options]) =>
    Effect.gen(function* () {
      const limits = { max_rounds: 3 }
      const { upstream } = yield* mode === "adversarial"
        ? debating(stubborn, { options, limits })
        : verifying(stubborn, { options, limits })
      const bound = yield* boundOf({ mode, options, limits })
      assert.isAtMost(upstream.requests.length, bound?.calls ?? 0, upstream.requests.map(kindOf).join(" "))
      assert.isAtLeast(upstream.requests.length, (bound?.calls ?? 0) / 3)
    }),
  )
})
