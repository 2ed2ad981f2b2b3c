/** From a Chat Completions request to a Messages API request. */
import type { ChatRequest, ResponseFormat, Tool, ToolChoice } from "../../../../domain/chat/chat.ts"
import { type MemberRules, REQUEST, RESPONSE_FORMAT, TOOL } from "../shared/MemberRules.ts"
import type { Unsupported } from "../shared/Unsupported.ts"
import { present } from "../shared/present.ts"
import type { AnswerDefaults } from "../shared/WireFormat.ts"
import { canBeForced, toSampling, toThinking } from "./modelMembers.ts"
import { cacheControl } from "./toBlocks.ts"
import { toTurns } from "./toTurns.ts"

/** The output limit if the caller sets none: the API requires one. Every current model can write, or think, this much. */
const DEFAULT_MAX_TOKENS = 32_000

const REQUEST_MEMBERS: MemberRules = {
  ...REQUEST,
  parallel_tool_calls: "translated",
  n: [1],
  frequency_penalty: [0],
  presence_penalty: [0],
  // The seed is best effort in Chat Completions too: the same seed may give another answer.
  seed: "advisory",
  // Id of the end user, for detecting abuse.
  user: "translated",
  safety_identifier: "translated",
  cache_control: "translated",
}

export const toRequest = (request: ChatRequest, call: AnswerDefaults, unsupported: Unsupported) => {
  unsupported.check(request, REQUEST_MEMBERS)
  const { system, turns } = toTurns(request.messages, unsupported)
  const user = [request["safety_identifier"], request["user"]].find(isOpaqueId)
  const { effort, thinking } = toThinking(request["reasoning_effort"], call.model, unsupported)
  const output = { ...toFormat(request.response_format, unsupported), ...present({ effort }) }
  return {
    model: call.model,
    max_tokens: request.max_completion_tokens ?? request.max_tokens ?? DEFAULT_MAX_TOKENS,
    messages: turns,
    ...(system.length > 0 ? { system } : {}),
    ...(call.stream ? { stream: true } : {}),
    ...present({
      ...toSampling(request, call.model, unsupported),
      thinking,
      stop_sequences: typeof request.stop === "string" ? [request.stop] : request.stop,
    }),
    ...toTools(request, call.model, unsupported),
    ...(Object.keys(output).length > 0 ? { output_config: output } : {}),
    ...(user === undefined ? {} : { metadata: { user_id: user } }),
    ...cacheControl(request, "", unsupported),
  }
}

/** The API refuses email addresses, phone numbers and long ids (https://docs.anthropic.com/en/api/messages#body-metadata). */
const isOpaqueId = (user: unknown): user is string =>
  typeof user === "string" && user.length <= 256 && !user.includes("@") && !/^\+?[\d\s().-]{7,}$/.test(user)

const toTools = (request: ChatRequest, model: string, unsupported: Unsupported) => {
  const { parallel_tool_calls: parallel } = request
  const choice = request.tool_choice ?? "auto"
  const tools = request.tools ?? []
  if (tools.length > 0) {
    if (choice !== "auto" && choice !== "none" && !canBeForced(model)) {
      unsupported.add("tool_choice", "this model cannot be forced to call a tool: use auto")
    }
    const single = parallel === false ? { disable_parallel_tool_use: true as const } : {}
    return {
      tools: tools.map((tool, index) => toTool(tool, `tools[${index}]`, unsupported)),
      ...(choice === "auto" && parallel !== false ? {} : { tool_choice: toSelection(choice, single) }),
    }
  }
  if (choice !== "auto" && choice !== "none") unsupported.add("tool_choice", "there are no tools to choose from")
  // The API requires declarations for the tool calls in the conversation, even if no further call is allowed.
  const called = request.messages.flatMap((message) => (message.role === "assistant" ? (message.tool_calls ?? []) : []))
  const names = [...new Set(called.map((call) => call.function.name))]
  return names.length === 0
    ? {}
    : {
        tools: names.map((name) => ({ name, input_schema: { type: "object", properties: {} } })),
        tool_choice: { type: "none" },
      }
}

const toTool = (tool: Tool, path: string, unsupported: Unsupported) => {
  unsupported.check(tool, TOOL, path)
  const { name, description, parameters, strict } = tool.function
  return {
    name,
    ...present({ description }),
    input_schema: { properties: {}, ...parameters, type: "object" },
    ...(strict === true ? { strict } : {}),
    ...cacheControl(tool, path, unsupported),
  }
}

const toSelection = (choice: ToolChoice, single: { readonly disable_parallel_tool_use?: true }) => {
  if (choice === "none") return { type: "none" }
  if (choice === "auto") return { type: "auto", ...single }
  return choice === "required" ? { type: "any", ...single } : { type: "tool", name: choice.function.name, ...single }
}

const toFormat = (format: ResponseFormat | null | undefined, unsupported: Unsupported) => {
  if (format == null) return {}
  unsupported.check(format, RESPONSE_FORMAT[format.type], "response_format")
  if (format.type === "text") return {}
  if (format.type !== "json_schema") {
    unsupported.add("response_format", "this provider needs a schema: use json_schema")
    return {}
  }
  const { schema, description } = format.json_schema
  if (schema == null) {
    unsupported.add("response_format.json_schema", "this provider needs a schema")
    return {}
  }
  // The name only labels the schema. A description is for the model, and JSON Schema has a place for it.
  return { format: { type: "json_schema", schema: { ...present({ description }), ...schema } } }
}
