/** Members of an assistant message that its author may demand back, and that other models refuse. */
import { Schema } from "effect"
import type { AssistantMessage, Message, ToolCall } from "./chat.ts"

/** DeepSeek and Kimi refuse a tool conversation without its thoughts. `reasoning` is left out: Groq refuses its own. */
export const MessageState = Schema.Struct({
  reasoning_content: Schema.optionalKey(Schema.Unknown),
  extra_content: Schema.optionalKey(Schema.Unknown),
})
export type MessageState = typeof MessageState.Type

export const messageStateOf = ({ extra_content, reasoning_content }: AssistantMessage): MessageState => ({
  ...(reasoning_content != null && { reasoning_content }),
  ...(extra_content != null && { extra_content }),
})

/** A message for another model than its author: without state, also of its tool calls. */
export const withoutMessageState = (message: Message): Message => {
  if (message.role !== "assistant") return message
  const { extra_content: _, reasoning_content: __, tool_calls: calls, ...rest } = message
  return { ...rest, ...(calls != null && { tool_calls: calls.map(plainCall) }) }
}

const plainCall = ({ function: { arguments: input, name }, id, type }: ToolCall): ToolCall => ({
  id,
  type,
  function: { name, arguments: input },
})
