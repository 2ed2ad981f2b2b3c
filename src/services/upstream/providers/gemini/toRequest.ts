/** From a Chat Completions request to a `generateContent` request. */
import type { ChatRequest, ResponseFormat, Tool, ToolChoice } from "../../../../domain/chat/chat.ts"
import { type MemberRules, REQUEST, RESPONSE_FORMAT, TOOL } from "../shared/MemberRules.ts"
import type { Unsupported } from "../shared/Unsupported.ts"
import { present } from "../shared/present.ts"
import type { AnswerDefaults } from "../shared/WireFormat.ts"
import { toContents } from "./toContents.ts"
import { toThinking } from "./toThinking.ts"

const REQUEST_MEMBERS: MemberRules = {
  ...REQUEST,
  parallel_tool_calls: [true],
  n: "translated",
  frequency_penalty: "translated",
  presence_penalty: "translated",
  seed: "translated",
  // Id of the end user, for detecting abuse.
  user: "advisory",
  safety_identifier: "advisory",
  // Cache hints, which change nothing else.
  cache_control: "advisory",
}

export const toRequest = (request: ChatRequest, call: AnswerDefaults, unsupported: Unsupported) => {
  unsupported.check(request, REQUEST_MEMBERS)
  const { system, contents } = toContents(request.messages, call.model, unsupported)
  const functions = (request.tools ?? []).map((tool, index) => toDeclaration(tool, `tools[${index}]`, unsupported))
  const choice = request.tool_choice ?? "auto"
  if (functions.length === 0 && choice !== "auto" && choice !== "none") {
    unsupported.add("tool_choice", "there are no tools to choose from")
  }
  return {
    contents,
    generationConfig: toGenerationConfig(request, call.model, unsupported),
    ...(system.length > 0 ? { systemInstruction: { parts: system } } : {}),
    ...(functions.length > 0
      ? {
          tools: [{ functionDeclarations: functions }],
          toolConfig: { functionCallingConfig: toCallingConfig(choice, request.tools ?? []) },
        }
      : {}),
  }
}

const toGenerationConfig = (request: ChatRequest, model: string, unsupported: Unsupported) =>
  present({
    candidateCount: request.n,
    maxOutputTokens: request.max_completion_tokens ?? request.max_tokens,
    stopSequences: typeof request.stop === "string" ? [request.stop] : request.stop,
    temperature: request.temperature,
    topP: request.top_p,
    topK: unsupported.number(request, "top_k"),
    seed: request.seed,
    presencePenalty: unsupported.number(request, "presence_penalty"),
    frequencyPenalty: unsupported.number(request, "frequency_penalty"),
    thinkingConfig: toThinking(request["reasoning_effort"], model, unsupported),
    ...toFormat(request.response_format, unsupported),
  })

const toFormat = (format: ResponseFormat | null | undefined, unsupported: Unsupported) => {
  if (format == null) return {}
  unsupported.check(format, RESPONSE_FORMAT[format.type], "response_format")
  if (format.type === "text") return {}
  if (format.type !== "json_schema") return { responseMimeType: "application/json" }
  const { schema, description } = format.json_schema
  return {
    responseMimeType: "application/json",
    // The name only labels the schema. A description is for the model, and JSON Schema has a place for it.
    ...(schema == null ? {} : { responseJsonSchema: { ...present({ description }), ...schema } }),
  }
}

const toDeclaration = (tool: Tool, path: string, unsupported: Unsupported) => {
  unsupported.check(tool, TOOL, path)
  const { name, description, parameters } = tool.function
  return { name, ...present({ description, parametersJsonSchema: parameters }) }
}

/** Forced calls always follow their schemas. With `VALIDATED`, which strict tools need, so do optional calls. */
const toCallingConfig = (choice: ToolChoice, tools: ReadonlyArray<Tool>) => {
  if (choice === "none") return { mode: "NONE" }
  if (choice === "required") return { mode: "ANY" }
  if (choice !== "auto") return { mode: "ANY", allowedFunctionNames: [choice.function.name] }
  return { mode: tools.some((tool) => tool.function.strict === true) ? "VALIDATED" : "AUTO" }
}
