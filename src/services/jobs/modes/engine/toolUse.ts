/** Tool calls of a mode: each is one durable step, and its output reaches models as quoted data. */
import { Effect, Option, Schema } from "effect"
import type { Tool, ToolCall } from "../../../../domain/chat/chat.ts"
import { type HttpTool, shownText } from "../../../../domain/jobs/tool.ts"
import { type Step, stepName } from "../../../../domain/jobs/step.ts"
import { failedOutput, ToolOutput } from "../../../tools/ToolOutput.ts"
import type { Tools } from "../../../tools/Tools.ts"
import type { JobContext } from "../../JobProgram.ts"
import { quotedOutput } from "./quoted.ts"

export interface ToolUse {
  /** The agent's tools as models see them. */
  readonly offered: ReadonlyArray<Tool>
  /** Carries out a model's call, and returns the content of its `tool` message. */
  readonly call: (step: Step, call: ToolCall) => Effect.Effect<string>
}

export const makeToolUse = (context: JobContext, tools: Tools): ToolUse => {
  const own: ReadonlyArray<HttpTool> = context.agent.tools ?? []
  /** The same in every run of the job, so a call that was in flight at a crash is repeated under the same key. */
  const keyOf = (step: Step) => `${context.jobId}/${stepName(step)}`

  const run = (step: Step, { arguments: text, name }: ToolCall["function"]): Effect.Effect<ToolOutput> => {
    const tool = own.find((each) => each.name === name)
    if (tool === undefined) return Effect.succeed(failedOutput("There is no tool of this name."))
    const input = decodeInput(text.trim() === "" ? "{}" : text)
    return Option.isNone(input)
      ? Effect.succeed(failedOutput("The tool was not called: its arguments are not a JSON object."))
      : tools.call(tool, input.value, keyOf(step))
  }

  return {
    offered: own.map(({ description, input_schema, name }) => ({
      type: "function",
      function: { name, description, parameters: input_schema },
    })),
    call: (step, { function: called }) => {
      const used = Effect.map(run(step, called), (output) => ({
        value: output,
        tool: {
          name: shownText(called.name),
          input: shownText(called.arguments),
          output: shownText(output.text),
          is_error: output.is_error,
        },
      }))
      return Effect.map(context.step(step, ToolOutput, used), ({ text }) => quotedOutput(called.name, text))
    },
  }
}

const decodeInput = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown)))
