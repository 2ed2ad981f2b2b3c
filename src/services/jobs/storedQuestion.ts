/** Questions of jobs as their rows keep them. */
import { DateTime, Effect, Schema } from "effect"
import { JobQuestion } from "../../domain/jobs/question.ts"
import { Step, stepName } from "../../domain/jobs/step.ts"

export const StoredQuestion = Schema.fromJsonString(Schema.Struct({ ...JobQuestion.fields, asking: Step }))
export type StoredQuestion = typeof StoredQuestion.Type

export const encodeQuestion = (question: StoredQuestion): Effect.Effect<string> =>
  Effect.orDie(Schema.encodeEffect(StoredQuestion)(question))

/** A question of a program. `asking` is the step whose outcome is the answer. */
export interface AskedQuestion extends Pick<StoredQuestion, "asking" | "question" | "answer_schema"> {
  readonly timeoutSeconds: number
}

export const makeQuestion = ({ timeoutSeconds, ...asked }: AskedQuestion): Effect.Effect<StoredQuestion> =>
  Effect.map(DateTime.now, (asked_at) => ({
    ...asked,
    step: stepName(asked.asking),
    asked_at,
    deadline: DateTime.add(asked_at, { seconds: timeoutSeconds }),
  }))

export const shownQuestion = (stored: StoredQuestion): JobQuestion => {
  const { asking: _, ...question } = stored
  return question
}
