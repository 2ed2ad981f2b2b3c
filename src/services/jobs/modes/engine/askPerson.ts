/** The built-in tool with which models ask people. */
import { Effect, Result, Schema } from "effect"
import type { Tool } from "../../../../domain/chat/chat.ts"
import {
  ASK_PERSON,
  type AskPerson,
  DEFAULT_INPUT_TIMEOUT_SECONDS,
  Question,
} from "../../../../domain/jobs/question.ts"
import type { Step } from "../../../../domain/jobs/step.ts"
import { schemaIssues } from "../../../../domain/json/schemaIssues.ts"
import { boundedText, failedOutput, type ToolInput, type ToolOutput } from "../../../tools/ToolOutput.ts"
import type { JobContext } from "../../JobProgram.ts"

/** The tool as models see it. */
export const ASKING: Tool = {
  type: "function",
  function: {
    name: ASK_PERSON,
    description: "Asks a person and waits for the answer, for hours or longer. Use it if you cannot go on without one.",
    parameters: {
      type: "object",
      properties: {
        question: { type: "string", description: "What the person must know to answer." },
        answer_schema: {
          type: "object",
          description:
            'JSON Schema of the answer, with "type": "object"; keywords: type, enum, const, properties, required, additionalProperties, items, and bounds.',
        },
      },
      required: ["question", "answer_schema"],
    },
  },
}

const decodeQuestion = Schema.decodeUnknownResult(Question, { errors: "all" })

/** Asks a person and suspends the job; the step has its outcome when the job resumes. Wrong `input` fails the call. */
export const askPerson = (
  context: Pick<JobContext, "ask">,
  { timeout_seconds = DEFAULT_INPUT_TIMEOUT_SECONDS }: AskPerson,
  asking: Step,
  input: ToolInput,
): Effect.Effect<ToolOutput> =>
  Result.match(decodeQuestion(input), {
    onFailure: ({ issue }) => {
      const mistakes = schemaIssues(issue).map(({ message, path }) => `${path}: ${message}`)
      return Effect.succeed(failedOutput(boundedText(`Nobody was asked. Correct the input.\n${mistakes.join("\n")}`)))
    },
    onSuccess: ({ answer_schema, question }) =>
      context.ask({ asking, question: question.toWellFormed(), answer_schema, timeoutSeconds: timeout_seconds }),
  })
