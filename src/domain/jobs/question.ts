/** Questions of models to people, which a job waits for. */
import { Schema } from "effect"
import { Refusal } from "../problems/refusal.ts"
import { timeText } from "../timeText.ts"
import { CheckedSchema } from "./tool.ts"

export const ASK_PERSON = "ask_person"

const MAX_QUESTION = 4000
const MIN_TIMEOUT_SECONDS = 60
/** A week. */
const MAX_TIMEOUT_SECONDS = 604_800
export const DEFAULT_INPUT_TIMEOUT_SECONDS = 86_400

/** Lets models of the direct mode ask. */
export const AskPerson = Schema.Struct({
  timeout_seconds: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: MIN_TIMEOUT_SECONDS, maximum: MAX_TIMEOUT_SECONDS })).annotate({
      description: `Seconds to wait for the answer. Default ${DEFAULT_INPUT_TIMEOUT_SECONDS}.`,
    }),
  ),
}).annotate({ description: "Lets the model ask people in the direct mode; the job waits as `input_required`." })
export type AskPerson = typeof AskPerson.Type

const AnswerSchema = CheckedSchema.annotate({ description: "JSON Schema of the answer, an object." })

/** The input of the tool. */
export const Question = Schema.Struct({
  question: Schema.String.check(Schema.isBetweenLength(1, MAX_QUESTION)),
  answer_schema: AnswerSchema,
})
export type Question = typeof Question.Type

export const JobQuestion = Schema.Struct({
  step: Schema.String.annotate({ description: "The `name` that the step with the answer will have." }),
  question: Schema.String.annotate({ description: "What the model asks." }),
  answer_schema: Schema.Record(Schema.String, Schema.Unknown).annotate({
    description: "JSON Schema that the answer must fit.",
  }),
  asked_at: timeText("When it was asked."),
  deadline: timeText("When the job goes on without an answer."),
}).annotate({ identifier: "JobQuestion" })
export type JobQuestion = typeof JobQuestion.Type

export const JobInput = Schema.Struct({
  answer: Schema.Unknown.annotate({ description: "Fits the question's `answer_schema`." }),
  step: Schema.optionalKey(
    Schema.String.check(Schema.isMaxLength(200)).annotate({
      description: "The question's `step`: the answer is refused if the job has gone on to another question.",
    }),
  ),
})
export type JobInput = typeof JobInput.Type

export class InputNotRequired extends Refusal<InputNotRequired>()("InputNotRequired", {
  code: "input-not-required",
  status: 409,
  title: "The job does not wait for this answer; read it again.",
}) {}

export class InputInvalid extends Refusal<InputInvalid>()("InputInvalid", {
  code: "input-invalid",
  status: 422,
  title: "The answer does not fit the schema that the question asks for.",
}) {}
