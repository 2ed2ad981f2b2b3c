/**
 * `npm run eval`: compares the modes with simpler strategies.
 *
 *   npm run eval                              runs over recorded and simulated models
 *   npm run eval -- --write                   also writes docs/explanation/modes.md and the shipped measurements
 *   npm run eval -- --live set.jsonl [n]      runs the first n questions over the configured providers
 *
 * A live run costs money for its calls. It updates the calibration of the judges in the shipped measurements.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Console, Effect } from "effect"
import { MEASUREMENTS } from "../src/services/jobs/modes/engine/measurements.ts"
import { authors, examiners } from "./calculating.ts"
import { layerRemembering, startedCalculator } from "./calculator.ts"
import { evaluateLive } from "./live.ts"
import type { Run } from "./harness.ts"
import { recorded } from "./recorded.ts"
import { summarize, type Summary, table } from "./report.ts"
import { measureMmlu, simulated } from "./simulated.ts"
import { modeAt, plainVote, selfConsistency, type Strategy, strongest } from "./strategies.ts"
import type { World } from "./World.ts"
import { writeMeasurements, writeTable } from "./write.ts"

const SIMULATED_QUESTIONS = 4000

export const evaluate = (world: World, strategies: ReadonlyArray<Strategy>): Effect.Effect<ReadonlyArray<Summary>> =>
  Effect.forEach(strategies, ({ answer, name }) =>
    Effect.map(
      Effect.forEach(world.questions, (question) => answer(world, question)),
      (outcomes) => summarize(name, outcomes),
    ),
  )

const modes = (efforts: ReadonlyArray<"low" | "medium" | "high">): ReadonlyArray<Strategy> => [
  ...efforts.map((effort) => modeAt("verified", { effort })),
  modeAt("adversarial", { effort: "low" }),
  modeAt("adversarial", { effort: "medium" }),
]

const withCalculator = (tools: Run["tools"]): ReadonlyArray<Strategy> => {
  const byAuthors = { name: "with a calculator", tools, play: authors }
  return [
    modeAt("direct", {}, byAuthors),
    modeAt("verified", { effort: "low" }, byAuthors),
    modeAt("verified", { effort: "medium" }, byAuthors),
    modeAt("verified", { effort: "medium" }, { name: "examiners with a calculator", tools, play: examiners }),
  ]
}

const alone = (model: string, { answer, name }: Strategy): Strategy => ({
  name: `${model}, ${name}`,
  answer: (world, question) => answer({ ...world, models: [model] }, question),
})

const compare = Effect.fnUntraced(function* (world: World, strategies: ReadonlyArray<Strategy>) {
  const text = table(yield* evaluate(world, strategies))
  yield* Console.log(`\n${world.name}: ${world.questions.length} questions, ${world.models.length} models\n\n${text}`)
  return text
})

const offline = Effect.fnUntraced(function* (write: boolean) {
  // A recorded model has one answer, so high effort, which asks a model again, gains nothing.
  yield* Effect.gen(function* () {
    const calculated = withCalculator(yield* startedCalculator)
    const world = recorded()
    yield* compare(world, [strongest, plainVote(2), plainVote(3), ...modes(["low", "medium"]), ...calculated])
    const direct = [modeAt("direct", {}), ...calculated.slice(0, 1)]
    yield* compare(
      { ...world, name: "recorded, each model alone" },
      world.models.flatMap((model) => direct.map((strategy) => alone(model, strategy))),
    )
  }).pipe(Effect.scoped, Effect.provide(layerRemembering))
  const efforts = modes(["low", "medium", "high"])
  const text = yield* compare(simulated(SIMULATED_QUESTIONS), [strongest, plainVote(3), selfConsistency(2), ...efforts])
  if (!write) return
  writeTable(text)
  writeMeasurements({ ...measureMmlu(), judges: MEASUREMENTS.judges })
})

const main = Effect.gen(function* () {
  const [option, set, count] = process.argv.slice(2)
  if (option === "--live" && set !== undefined) return yield* evaluateLive(set, Number(count ?? Infinity))
  if (option !== undefined && option !== "--write")
    return yield* Effect.die(new Error(`What is ${option}? See the head of eval/main.ts.`))
  return yield* offline(option === "--write")
})

if (import.meta.main) NodeRuntime.runMain(main)
