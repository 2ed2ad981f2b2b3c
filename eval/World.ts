/** The questions of an evaluation and every model's answers. */
import type { Measurements } from "../src/services/jobs/modes/engine/errorModel.ts"
import { plain } from "../src/services/jobs/modes/engine/sameAnswer.ts"

export interface Question {
  readonly id: string
  readonly task: string
  readonly right: string
  /** The model's nth answer, from 0; empty if it gives none. */
  readonly said: (model: string, nth: number) => string
  /** The calculations that led a model to its answer, in the notation of eval/data/README.md; empty if there are none. */
  readonly calculated?: (model: string) => string
  /** Measurements of the models on other questions. */
  readonly measured: Measurements
}

export interface World {
  readonly name: string
  /** In the order they are asked; the strongest comes first. */
  readonly models: ReadonlyArray<string>
  readonly questions: ReadonlyArray<Question>
  /** Whether a model may give another answer when asked again. */
  readonly resamples: boolean
}

export const isRight = (answer: string, { right }: Pick<Question, "right">): boolean => plain(answer) === plain(right)
