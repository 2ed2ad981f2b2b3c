/** From a Chat Completions request to a `generateContent` request. */
import type { ChatRequest, ResponseFormat, Tool, ToolChoice } from "../../../../domain/chat.ts"
import type { ModernRequest } from "../shared/LegacyFunctions.ts"
import { FUNCTION, GEMINI_REQUEST, TOOL } from "../shared/MemberRules.ts"
import type { Unsupported } from "../shared/Unsupported.ts"
import { present } from "../shared/present.ts"
import type { Call } from "../shared/WireFormat.ts"
import type { FunctionCallingConfig, FunctionDeclaration, GenerateContentRequest, GenerationConfig } from "./Request.ts"
import { toContents } from "./toContents.ts"

export const toRequest = (request: ModernRequest, call: Call, unsupported: Unsupported): GenerateContentRequest => {
  unsupported.check(request, GEMINI_REQUEST)
  const { system, contents } = toContents(request.messages, call.model, unsupported)
  const functions = (request.tools ?? []).map((tool, index) => toDeclaration(tool, `tools[${index}]`, unsupported))
  const choice = request.tool_choice ?? "auto"
  if (functions.length === 0 && choice !== "auto" && choice !== "none") {
    unsupported.add("tool_choice", "there are no tools to choose from")
  }
  return {
    contents,
    generationConfig: toGenerationConfig(request, unsupported),
    ...(system.length > 0 ? { systemInstruction: { parts: system } } : {}),
    ...(functions.length > 0
      ? {
          tools: [{ functionDeclarations: functions }],
          toolConfig: { functionCallingConfig: toCallingConfig(choice, request.tools ?? []) },
        }
      : {}),
  }
}

const toGenerationConfig = (request: ChatRequest, unsupported: Unsupported): GenerationConfig =>
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
    thinkingConfig: toThinking(request["reasoning_effort"], unsupported),
    ...toFormat(request.response_format),
  })

const toFormat = (
  format: ResponseFormat | undefined,
): Pick<GenerationConfig, "responseMimeType" | "responseJsonSchema"> => {
  if (format === undefined || format.type === "text") return {}
  if (format.type !== "json_schema") return { responseMimeType: "application/json" }
  const { schema, description } = format.json_schema
  return {
    responseMimeType: "application/json",
    // The name only labels the schema. A description is for the model, and JSON Schema has a place for it.
    ...(schema === undefined ? {} : { responseJsonSchema: { ...present({ description }), ...schema } }),
  }
}

/** Levels of OpenAI's scale. The API's own scale ends at `HIGH`, and `none` is a budget of nothing. */
const THINKING = new Map<unknown, NonNullable<GenerationConfig["thinkingConfig"]>>([
  ["none", { thinkingBudget: 0 }],
  ["minimal", { thinkingLevel: "MINIMAL" }],
  ["low", { thinkingLevel: "LOW" }],
  ["medium", { thinkingLevel: "MEDIUM" }],
  ["high", { thinkingLevel: "HIGH" }],
  ["xhigh", { thinkingLevel: "HIGH" }],
  ["max", { thinkingLevel: "HIGH" }],
])

const toThinking = (level: unknown, unsupported: Unsupported): GenerationConfig["thinkingConfig"] => {
  const config = THINKING.get(level)
  if (config === undefined && level != null) unsupported.add("reasoning_effort", "not a level that is known here")
  return config
}

const toDeclaration = (tool: Tool, path: string, unsupported: Unsupported): FunctionDeclaration => {
  unsupported.check(tool, TOOL, path)
  unsupported.check(tool.function, FUNCTION, `${path}.function`)
  const { name, description, parameters } = tool.function
  return { name, ...present({ description, parametersJsonSchema: parameters }) }
}

/** Forced calls are always held to their schemas; free ones are when a tool is declared strict. */
const toCallingConfig = (choice: ToolChoice, tools: ReadonlyArray<Tool>): FunctionCallingConfig => {
  if (choice === "none") return { mode: "NONE" }
  if (choice === "required") return { mode: "ANY" }
  if (choice !== "auto") return { mode: "ANY", allowedFunctionNames: [choice.function.name] }
  return { mode: tools.some((tool) => tool.function.strict === true) ? "VALIDATED" : "AUTO" }
}
