/** The ways to answer that are compared: the modes, and what they have to be better than. */
import { Effect } from "effect"
import type { JobOptions, Mode } from "../src/domain/jobs/modes.ts"
import { plain } from "../src/services/jobs/modes/engine/sameAnswer.ts"
import { runMode, targetOf } from "./harness.ts"
import { playing } from "./play.ts"
import { isRight, type Question, type World } from "./World.ts"

export interface Outcome {
  readonly right: boolean
  /** Whether the answer is called one to be relied upon. */
  readonly sure: boolean
  /** The probability that it is right, where one is stated. */
  readonly confidence: number | undefined
  readonly calls: number
  /** `undefined` where nobody counts them. */
  readonly tokens?: number | undefined
  /** In micro-USD. */
  readonly cost?: number | undefined
}

export interface Strategy {
  readonly name: string
  readonly answer: (world: World, question: Question) => Effect.Effect<Outcome>
}

/** The answer that was given most, of equals the one that was given first. */
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

export const modeAt = (mode: Mode, options: JobOptions): Strategy => ({
  name: `${mode}, ${options.effort ?? "medium"}`,
  answer: ({ models }, question) =>
    Effect.map(
      // Of what a recorded model may say to anything but its question, nothing can fail.
      Effect.orDie(
        runMode({
          mode,
          options,
          task: question.task,
          targets: models.map(targetOf),
          play: playing(question),
          measured: question.measured,
        }),
      ),
      ({ calls, result, tokens }) => ({
        right: isRight(result.answer, question),
        sure: result.verdict === "verified" || result.verdict === "upheld" || result.verdict === "revised",
        confidence: result.confidence ?? undefined,
        calls: calls.length,
        tokens,
      }),
    ),
})
