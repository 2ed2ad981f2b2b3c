/**
 * `npm run eval`: the modes beside what they have to be better than, over recorded and simulated models.
 */
import { Console, Effect } from "effect"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { recorded } from "./recorded.ts"
import { summarize, type Summary, table } from "./report.ts"
import { simulated } from "./simulated.ts"
import { modeAt, plainVote, selfConsistency, type Strategy, strongest } from "./strategies.ts"
import type { World } from "./World.ts"

const SIMULATED_QUESTIONS = 4000

export const evaluate = (world: World, strategies: ReadonlyArray<Strategy>): Effect.Effect<ReadonlyArray<Summary>> =>
  Effect.forEach(strategies, ({ answer, name }) =>
    Effect.map(
      Effect.forEach(world.questions, (question) => answer(world, question)),
      (outcomes) => summarize(name, outcomes),
    ),
  )

const MODES = [
  modeAt("verified", { effort: "low" }),
  modeAt("verified", { effort: "medium" }),
  modeAt("verified", { effort: "high" }),
  modeAt("adversarial", { effort: "low" }),
  modeAt("adversarial", { effort: "medium" }),
]

const main = Effect.gen(function* () {
  for (const [world, baselines] of [
    [recorded(), [strongest, plainVote(2), plainVote(3), plainVote(4)]],
    [simulated(SIMULATED_QUESTIONS), [strongest, plainVote(3), plainVote(5), selfConsistency(3), selfConsistency(5)]],
  ] as const) {
    const summaries = yield* evaluate(world, [...baselines, ...MODES])
    yield* Console.log(`\n${world.name}: ${world.questions.length} questions, ${world.models.length} models\n`)
    yield* Console.log(table(summaries))
  }
})

if (import.meta.main) NodeRuntime.runMain(main)
