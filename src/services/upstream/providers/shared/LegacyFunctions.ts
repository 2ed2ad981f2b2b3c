/**
 * `functions`, `function_call` and the role `function`, which Chat Completions had before tools. Requests are mapped to
 * tools before any provider sees them, answers are mapped back for callers that used them.
 */
import type {
  AssistantMessage,
  ChatChunk,
  ChatCompletion,
  ChatRequest,
  FunctionMessage,
  Message,
  Tool,
  ToolCallDelta,
  ToolChoice,
  ToolMessage,
} from "../../../../domain/chat/chat.ts"
import type { Unsupported } from "./Unsupported.ts"

/** Whether the caller expects a call of the model in the form of `function_call`. */
export const usesFunctions = (request: ChatRequest): boolean =>
  request.functions !== undefined || request.function_call !== undefined

/** A request, and a message, without anything from before tools. */
export type ModernMessage = Exclude<Message, FunctionMessage>
export interface ModernRequest extends ChatRequest {
  readonly messages: ReadonlyArray<ModernMessage>
}

/**
 * `request` in terms of tools. A caller of `functions` understands one call per answer, so the provider is told so if it
 * takes that (`singleToolCall`).
 */
export const withTools = (request: ChatRequest, singleToolCall: boolean, unsupported: Unsupported): ModernRequest => {
  if (isModern(request)) return request
  const { functions, function_call: choice, ...rest } = request
  if (functions !== undefined && rest.tools !== undefined)
    unsupported.add("functions", "give either functions or tools")
  const tools = (functions ?? []).map((definition): Tool => ({ type: "function", function: definition }))
  return {
    ...(singleToolCall && tools.length > 0 ? { parallel_tool_calls: false } : {}),
    ...rest,
    messages: mapMessages(request.messages, unsupported),
    ...(tools.length > 0 ? { tools } : {}),
    ...(choice === undefined ? {} : { tool_choice: toolChoice(choice) }),
  }
}

const isModern = (request: ChatRequest): request is ModernRequest =>
  !usesFunctions(request) && !request.messages.some(isLegacy)

const isLegacy = (message: Message): boolean =>
  message.role === "function" || (message.role === "assistant" && message.function_call != null)

const toolChoice = (choice: NonNullable<ChatRequest["function_call"]>): ToolChoice =>
  typeof choice === "string" ? choice : { type: "function", function: choice }

/** Legacy calls had no ids: a result belongs to the latest call of its name that has no result yet. */
const mapMessages = (messages: ReadonlyArray<Message>, unsupported: Unsupported): ReadonlyArray<ModernMessage> => {
  const open = new Map<string, Array<string>>()
  return messages.map((message, index) => {
    if (message.role === "function") return mapResult(message, index, open.get(message.name)?.pop(), unsupported)
    if (message.role !== "assistant" || message.function_call == null) return message
    const id = `call_function_${index}`
    open.set(message.function_call.name, [...(open.get(message.function_call.name) ?? []), id])
    return mapCall(message, id)
  })
}

const mapCall = ({ function_call: call, ...message }: AssistantMessage, id: string): AssistantMessage => {
  if (call == null) return message
  const { extra_content: extra, ...definition } = call
  const state = extra === undefined ? {} : { extra_content: extra }
  return {
    ...message,
    tool_calls: [{ ...state, id, type: "function", function: definition }, ...(message.tool_calls ?? [])],
  }
}

const mapResult = (
  { name, content, ...message }: FunctionMessage,
  index: number,
  call: string | undefined,
  unsupported: Unsupported,
): ToolMessage => {
  if (call === undefined) unsupported.add(`messages[${index}]`, `no function_call of "${name}" is left for this result`)
  return { ...message, role: "tool", tool_call_id: call ?? "", content: content ?? "" }
}

/** `completion` for a caller of `functions`. Further calls, if the provider insists on several, stay tool calls. */
export const legacyCompletion = (completion: ChatCompletion): ChatCompletion => ({
  ...completion,
  choices: completion.choices.map(({ message: { tool_calls: calls = [], ...message }, ...choice }) => {
    const [first, ...others] = calls
    if (first === undefined) return { ...choice, message }
    const { id: _id, type: _type, function: call, ...state } = first
    return {
      ...choice,
      message: {
        ...message,
        ...(others.length > 0 ? { tool_calls: others } : {}),
        function_call: { ...state, ...call },
      },
      finish_reason: legacyFinishReason(choice.finish_reason),
    }
  }),
})

/** One chunk of {@link legacyCompletion}. */
export const legacyChunk = (chunk: ChatChunk): ChatChunk => ({
  ...chunk,
  choices: chunk.choices.map(({ delta: { tool_calls: pieces = [], ...delta }, finish_reason: reason, ...choice }) => {
    const first = pieces.filter((piece) => piece.index === 0)
    const others = pieces.filter((piece) => piece.index !== 0)
    return {
      ...choice,
      delta: {
        ...delta,
        ...(others.length > 0 ? { tool_calls: others } : {}),
        ...(first.length > 0 ? { function_call: joinPieces(first) } : {}),
      },
      finish_reason: reason == null ? null : legacyFinishReason(reason),
    }
  }),
})

/** The pieces of one call in one chunk; there is rarely more than one. */
const joinPieces = (pieces: ReadonlyArray<ToolCallDelta>): LegacyPiece => {
  const args = pieces.flatMap(({ function: call }) => call?.arguments ?? [])
  const members = pieces.flatMap(({ index: _index, id: _id, type: _type, function: call, ...state }) =>
    Object.entries({ ...state, ...call }),
  )
  return { ...Object.fromEntries(members), ...(args.length > 0 ? { arguments: args.join("") } : {}) }
}

type LegacyPiece = NonNullable<ChatChunk["choices"][number]["delta"]["function_call"]>

const legacyFinishReason = (reason: string): string => (reason === "tool_calls" ? "function_call" : reason)
