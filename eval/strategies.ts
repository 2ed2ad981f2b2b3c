/** The strategies compared: the modes and their baselines. */
import { Effect } from "effect"
import type { JobOptions, Mode } from "../src/domain/jobs/modes.ts"
import { plain } from "../src/services/jobs/modes/engine/sameAnswer.ts"
import { finalOf } from "./calculating.ts"
import { type Play, type Run, runMode, targetOf } from "./harness.ts"
import { playing } from "./play.ts"
import { isRight, type Question, type World } from "./World.ts"

export interface Outcome {
  readonly right: boolean
  /** Whether the answer is marked reliable. */
  readonly sure: boolean
  /** Stated probability that the answer is right, if any. */
  readonly confidence: number | undefined
  readonly calls: number
  /** `undefined` if not counted. */
  readonly tokens?: number | undefined
  /** In micro-USD. */
  readonly cost?: number | undefined
}

export interface Strategy {
  readonly name: string
  readonly answer: (world: World, question: Question) => Effect.Effect<Outcome>
}

/** Returns the most frequent answer; ties go to the earliest. */
const vote = (answers: ReadonlyArray<string>) => {
  const said = answers.filter((answer) => answer !== "")
  const groups = [...Map.groupBy(said, plain).values()]
  const largest = groups.reduce<ReadonlyArray<string>>((most, group) => (group.length > most.length ? group : most), [])
  return { answer: largest[0] ?? "", sure: largest.length > answers.length / 2 }
}

export const strongest: Strategy = {
  name: "strongest model, once",
  answer: ({ models }, question) =>
    Effect.sync(() => ({
      right: isRight(question.said(models[0] ?? "", 0), question),
      sure: false,
      confidence: question.measured.models[models[0] ?? ""]?.accuracy,
      calls: 1,
    })),
}

export const plainVote = (count: number): Strategy => ({
  name: `plain vote of ${count} models`,
  answer: ({ models }, question) =>
    Effect.sync(() => {
      const { answer, sure } = vote(models.slice(0, count).map((model) => question.said(model, 0)))
      return { right: isRight(answer, question), sure, confidence: undefined, calls: count }
    }),
})

/** The strongest model, asked several times (Wang et al. 2022, arXiv:2203.11171). */
export const selfConsistency = (count: number): Strategy => ({
  name: `self-consistency, ${count} samples`,
  answer: ({ models }, question) =>
    Effect.sync(() => {
      const { answer, sure } = vote(Array.from({ length: count }, (_, nth) => question.said(models[0] ?? "", nth)))
      return { right: isRight(answer, question), sure, confidence: undefined, calls: count }
    }),
})

export interface Equipped {
  readonly name: string
  readonly tools: Run["tools"]
  readonly play: (question: Question) => Play
}

export const modeAt = (mode: Mode, options: JobOptions, equipped?: Equipped): Strategy => ({
  name: [mode, options.effort, equipped?.name].filter((part) => part !== undefined).join(", "),
  answer: ({ models }, question) =>
    Effect.map(
      // Calls of recorded models cannot fail.
      Effect.orDie(
        runMode({
          mode,
          options,
          task: question.task,
          targets: models.map(targetOf),
          play: (equipped?.play ?? playing)(question),
          measured: question.measured,
          tools: equipped?.tools,
        }),
      ),
      ({ calls, result, tokens }) => ({
        right: isRight(finalOf(result.answer), question),
        sure: result.verdict === "verified" || result.verdict === "upheld" || result.verdict === "revised",
        confidence: result.confidence ?? undefined,
        calls: calls.length,
        tokens,
      }),
    ),
})
