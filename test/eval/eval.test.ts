import { execFile } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { authors, examiners, finalOf } from "../../eval/calculating.ts"
import { layerLocalTools, startedCalculator } from "../../eval/calculator.ts"
import { runMode, targetOf } from "../../eval/harness.ts"
import { binsOf, judgedIn } from "../../eval/live.ts"
import { evaluate } from "../../eval/main.ts"
import { recorded } from "../../eval/recorded.ts"
import { interval } from "../../eval/report.ts"
import { measureMmlu, simulated } from "../../eval/simulated.ts"
import { modeAt, plainVote, strongest } from "../../eval/strategies.ts"
import type { AdversarialResult } from "../../src/domain/jobs/modes/adversarial.ts"
import { pairName } from "../../src/services/jobs/modes/engine/measured.ts"
import { FakeUpstream } from "../support/FakeUpstream.ts"
import { temporaryFolder } from "../support/proxy.ts"
import { MEASUREMENTS } from "../../src/services/jobs/modes/engine/measurements.ts"

describe("the evaluation", () => {
  it.effect("finds verified answers of recorded models reliable, for less than two thirds of the calls", () =>
    Effect.gen(function* () {
      const world = recorded()
      const [single, verified] = yield* evaluate(world, [strongest, modeAt("verified", { effort: "low" })])
      if (single === undefined || verified === undefined) return assert.fail("two strategies")
      assert.strictEqual(verified.questions, 1319)
      assert.isAtLeast(verified.accuracy, single.accuracy - 0.003)
      assert.isAtMost(verified.calls, 0.65 * world.models.length)
      assert.isAtLeast(verified.precision ?? 0, 0.85)
      assert.isAtLeast(verified.coverage, 0.25)
      assert.isAtMost(verified.calibrationError ?? 1, 0.05)
    }),
  )

  it.effect(
    "finds a simple vote of simulated models wrong and confident more often, with the same result in every run",
    () =>
      Effect.gen(function* () {
        const run = evaluate(simulated(150), [plainVote(3), modeAt("verified", { effort: "medium" })])
        const [vote, verified] = yield* run
        if (vote === undefined || verified === undefined) return assert.fail("two strategies")
        assert.isAtMost(verified.wrongAndSure, vote.wrongAndSure)
        assert.deepStrictEqual(yield* run, [vote, verified])
      }),
  )

  it("simulates models that err as the table says", () => {
    const { models, questions } = simulated(1500)
    const { models: errors, sameWrong } = measureMmlu()
    const right = (model: string) =>
      questions.filter((each) => each.said(model, 0) === each.right).length / questions.length
    for (const model of models) assert.closeTo(right(model), errors[model]?.accuracy ?? 0, 0.045, model)
    const [a = "", b = ""] = models
    const wrong = questions.filter((each) => each.said(a, 0) !== each.right && each.said(b, 0) !== each.right)
    const same = wrong.filter((each) => each.said(a, 0) === each.said(b, 0)).length / wrong.length
    assert.closeTo(same, sameWrong[pairName(a, b)] ?? 0, 0.1)
  })

  it("reproduces the shipped measurements", () => {
    assert.deepStrictEqual({ ...measureMmlu(), judges: MEASUREMENTS.judges }, MEASUREMENTS)
  })

  it("gives each rate its confidence interval", () => {
    const [low, high] = interval(50, 100)
    assert.closeTo(low, 0.4038, 1e-4)
    assert.closeTo(high, 0.5962, 1e-4)
    assert.deepStrictEqual(interval(0, 0), [0, 1])
  })

  it("derives a judge's confidence in its verdict from the confidence in the answer", () => {
    const judged = (verdict: AdversarialResult["verdict"], confidence: number | null) =>
      judgedIn(
        {
          mode: "adversarial",
          answer: "",
          verdict,
          confidence,
          independent: true,
          calibrated: false,
          objections: [],
          rounds: [],
          participants: [{ role: "judge", provider: "provider1", model: "a", independent: true }],
        },
        false,
      )
    assert.deepStrictEqual(judged("upheld", 0.75), [{ judge: "a", stated: 0.75, right: false }])
    assert.deepStrictEqual(judged("rejected", 0.25), [{ judge: "a", stated: 0.75, right: true }])
    assert.deepStrictEqual(judged("inconclusive", null), [])
  })

  it("counts how often a judge was right at each stated confidence", () => {
    const bins = binsOf([
      { judge: "a", stated: 0.9, right: true },
      { judge: "a", stated: 0.85, right: false },
      { judge: "a", stated: 1, right: true },
    ])["a"]
    assert.deepStrictEqual(
      bins?.filter(({ total }) => total > 0),
      [
        { upTo: 0.9, right: 1, total: 2 },
        { upTo: 1, right: 1, total: 1 },
      ],
    )
  })

  it.live("lets recorded models correct their answers with the calculator, for better and for worse", () =>
    Effect.gen(function* () {
      const world = recorded()
      const tools = yield* startedCalculator
      const withAndWithout = [modeAt("direct", {}), modeAt("direct", {}, { name: "calculator", tools, play: authors })]
      const rightOf = (model: string, ids: ReadonlyArray<string>) => {
        const questions = world.questions.filter(({ id }) => ids.includes(id))
        const rows = evaluate({ ...world, models: [model], questions }, withAndWithout)
        return Effect.map(rows, (rows) => rows.map(({ accuracy }) => Math.round(accuracy * questions.length)))
      }
      // 714 takes two thirds of 36 for 18, and multiplies it by 24. In 1, every calculation is right and the answer wrong.
      assert.deepStrictEqual(yield* rightOf("6b_verification", ["1", "714", "1111", "1127"]), [0, 3])
      // 581 states 500, the right answer, as the result of 520 × 1.18.
      assert.deepStrictEqual(yield* rightOf("175b_verification", ["581"]), [1, 0])
    }).pipe(Effect.scoped, Effect.provide(layerLocalTools)),
  )

  it.live("lets examiners refute a recorded answer with the calculator", () =>
    Effect.gen(function* () {
      const world = recorded()
      const question = world.questions.find(({ id }) => id === "394")
      if (question === undefined) return assert.fail("There is no question 394.")
      const { result } = yield* runMode({
        mode: "verified",
        options: { effort: "medium" },
        task: question.task,
        targets: world.models.map(targetOf),
        play: examiners(question),
        measured: question.measured,
        tools: yield* startedCalculator,
      })
      // It states 90 × 1/60 = 1.
      assert.strictEqual(finalOf(result.answer), "14")
      assert.strictEqual(result.verdict, "refuted")
      if (result.mode !== "verified") return assert.fail(result.mode)
      const check = result.checks.find(({ consistent }) => consistent === false)
      assert.strictEqual(check?.executed, true)
      assert.include(check?.independent_answer.split(" ") ?? [], "1.5")
    }).pipe(Effect.scoped, Effect.provide(layerLocalTools)),
  )

  it.live("measures a live model with and without a calculator", () =>
    Effect.gen(function* () {
      const upstream = yield* FakeUpstream.make()
      // The scripted model multiplies only with the calculator.
      upstream.always({ text: "41" })
      upstream
        .when(({ tools }) => tools.length > 0)
        .always(({ text }) =>
          text.includes("BEGIN ")
            ? { text: /^\d+$/m.exec(text)?.[0] ?? "none" }
            : { toolCalls: [{ name: "calculator__multiply", arguments: { a: 6, b: 7 } }] },
        )
      const set = join(yield* temporaryFolder, "set.jsonl")
      writeFileSync(set, '{"question":"What is 6 × 7?","answer":"42"}\n')
      const { stdout } = yield* Effect.promise(() =>
        promisify(execFile)(process.execPath, ["eval/main.ts", "--live", set], {
          env: { PATH: process.env["PATH"], PROVIDER1_BASE_URL: upstream.openAi, PROVIDER1_API_KEY: "key" },
        }),
      )
      const right = (strategy: string) =>
        stdout
          .split("\n")
          .find((line) => line.includes(`| ${strategy} |`))
          ?.split("|")[2]
      assert.match(right("first model, once") ?? "", /^ 0\.0 /)
      assert.match(right("direct, with a calculator") ?? "", /^ 100\.0 /)
    }).pipe(Effect.scoped),
  )
})
