/** What an evaluation asks, and what every model answers to it. */
import type { Measurements } from "../src/services/jobs/modes/engine/errorModel.ts"
import { plain } from "../src/services/jobs/modes/engine/sameAnswer.ts"

export interface Question {
  readonly id: string
  readonly task: string
  readonly right: string
  /** What a model answers when it is asked for the nth time, from 0; empty where it gives no answer. */
  readonly said: (model: string, nth: number) => string
  /** What was measured of the models on other questions than this one. */
  readonly measured: Measurements
}

export interface World {
  readonly name: string
  /** In the order in which they are asked; the strongest is the first. */
  readonly models: ReadonlyArray<string>
  readonly questions: ReadonlyArray<Question>
  /** Whether a model may answer otherwise when it is asked again. */
  readonly resamples: boolean
}

export const isRight = (answer: string, { right }: Pick<Question, "right">): boolean => plain(answer) === plain(right)
