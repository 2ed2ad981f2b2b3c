import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { JobOptions, Mode } from "../../../../src/domain/jobs/modes.ts"
import type { HttpTool } from "../../../../src/domain/jobs/tool.ts"
import type { RoutingSettings } from "../../../../src/domain/routing/routing.ts"
import * as Modes from "../../../../src/services/jobs/modes/ModePrograms.ts"
import { CostBound } from "../../../../src/services/jobs/CostBound.ts"
import { prices, routing, settings, target } from "../../routing/RouterFixture.ts"
import { type Script, ScriptedUpstream, status } from "../../routing/ScriptedUpstream.ts"
import { answering, contextOf, debating, type JobOf, kindOf, replying, verifying } from "./ModeFixture.ts"

const boundOf = (job: Omit<JobOf, "steps">, input: Partial<RoutingSettings> = {}) =>
  Effect.flatMap(CostBound, (bound) => bound(contextOf(job, new Map()))).pipe(
    Effect.provide(
      Modes.layerCostBound.pipe(
        Layer.provide(routing(new ScriptedUpstream([status("provider1"), status("provider2")]), settings(input))),
      ),
    ),
    Effect.orDie,
  )

const TOOL: HttpTool = {
  name: "look",
  description: "Looks.",
  input_schema: { type: "object" },
  url: "https://tools.example.com/",
  read_only: true,
}
const CALL = { id: "1", type: "function" as const, function: { name: "look", arguments: "{}" } }

const output_schema = { type: "object", properties: { city: { type: "string" } } }

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

  it.effect("counts the turns of answers that may take tool calls", () =>
    Effect.gen(function* () {
      const callsOf = (mode: Mode, tool: HttpTool, limits = {}, options: JobOptions = {}) =>
        Effect.map(boundOf({ mode, task: "x", tools: [tool], limits, options }, one), (bound) => bound?.calls)
      // A draft, three samples, three answers and a correction of 5 turns; comparisons, questions and reconciliation.
      assert.strictEqual(yield* callsOf("verified", TOOL), 5 * (1 + 3 + 3 + 1) + 2 * 3 + 2 + 6)
      assert.strictEqual(yield* callsOf("verified", TOOL, { max_turns: 2 }), 2 * 8 + 14)
      // A proposal of 5 turns; two critiques, responses and judgements of 5 turns, each repaired.
      assert.strictEqual(yield* callsOf("adversarial", TOOL), 5 + 6 * 6)
      assert.strictEqual(yield* callsOf("adversarial", { ...TOOL, read_only: false }), 1 + 6 * 2)
      assert.strictEqual(yield* callsOf("direct", TOOL), 15)
      // The repair of an output.
      assert.strictEqual(yield* callsOf("direct", TOOL, {}, { output_schema }), 15 + 1)
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
    output: garbled,
    "output-repair": { city: "Oslo" },
  }
  it.effect.each<readonly ["adversarial" | "verified" | "direct", JobOptions, ReadonlyArray<HttpTool>?]>([
    ["adversarial", { effort: "high" }, [TOOL]],
    ["verified", { effort: "high" }, [TOOL]],
    ["adversarial", { effort: "low" }],
    ["adversarial", { effort: "high" }],
    ["verified", { effort: "low" }],
    ["verified", { effort: "high" }],
    ["direct", { effort: "high" }, [TOOL]],
    ["direct", { output_schema }],
  ])("is not exceeded by models that make %s as long as they can: %j", ([mode, options, tools = []]) =>
    Effect.gen(function* () {
      const limits = { max_rounds: 3 }
      const reply = replying(stubborn)
      // With tools, they call one as long as they may.
      const script: Script = (request, index) =>
        request.completion.tool_choice === "auto" ? { text: "", toolCalls: [CALL] } : reply(request, index)
      const job = { options, limits, tools, script }
      const running = { adversarial: debating, verified: verifying, direct: answering }[mode]
      const { upstream } = yield* running({}, job)
      const bound = yield* boundOf({ mode, options, limits, tools })
      assert.isAtMost(upstream.requests.length, bound?.calls ?? 0, upstream.requests.map(kindOf).join(" "))
      assert.isAtLeast(upstream.requests.length, (bound?.calls ?? 0) / 3)
    }),
  )
})
