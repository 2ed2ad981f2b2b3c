/**
 * The built-in provider: answers with what it was sent. It makes the product usable without a key, and tests and demo
 * run on it. It cannot judge anything, and every receipt shows its name.
 */
import { parseJson } from "../../../../domain/json/json.ts"
import { Clock, Effect, Random, Stream } from "effect"
import type { ChatChunk, ChatCompletion, ChatRequest, Message, ToolCall, Usage } from "../../../../domain/chat/chat.ts"
import type { Provider, ProviderFailure } from "../../Provider.ts"
import { countTokens, textOf, words } from "./echoText.ts"
import { nativeEcho } from "./nativeEcho.ts"

const DEFAULT_MODEL = "echo-1"

interface Answer {
  readonly content: string | null
  readonly toolCalls: ReadonlyArray<ToolCall>
  readonly finishReason: "stop" | "tool_calls" | "length"
  readonly usage: Usage
}

/**
 * Returns calls of the tools that the last message asks for: those that `tool_choice` names or requires, else those
 * that the user's text mentions. A JSON object in the text becomes the arguments.
 */
const toolCallsFor = (request: ChatRequest, last: Message | undefined, text: string): ReadonlyArray<ToolCall> => {
  const tools = request.tools ?? []
  const choice = request.tool_choice ?? "auto"
  if (last?.role !== "user" || choice === "none") return []
  const named =
    typeof choice === "object"
      ? tools.filter((tool) => tool.function.name === choice.function.name)
      : choice === "required"
        ? tools.slice(0, 1)
        : tools.filter((tool) => text.includes(tool.function.name))
  const start = text.indexOf("{")
  const json = start === -1 ? "" : text.slice(start, text.lastIndexOf("}") + 1)
  const args = parseJson(json) !== undefined ? json : JSON.stringify({ prompt: text })
  const asked = request.parallel_tool_calls === false ? named.slice(0, 1) : named
  return asked.map((tool, index) => ({
    id: `call_echo_${index}`,
    type: "function",
    function: { name: tool.function.name, arguments: args },
  }))
}

const answerTo = (request: ChatRequest): Answer => {
  const last = request.messages.at(-1)
  const text = textOf(last?.content)
  const toolCalls = toolCallsFor(request, last, text)
  const promptTokens = request.messages.reduce((sum, message) => sum + countTokens(textOf(message.content)), 0)
  const limit = request.max_completion_tokens ?? request.max_tokens ?? Infinity
  const pieces = words(text)
  const content = toolCalls.length > 0 ? null : pieces.slice(0, limit).join("")
  const completionTokens = toolCalls.reduce((sum, call) => sum + countTokens(call.function.arguments), 0)
  const completion = content === null ? completionTokens : Math.min(pieces.length, limit)
  return {
    content,
    toolCalls,
    finishReason: content === null ? "tool_calls" : pieces.length > limit ? "length" : "stop",
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completion,
      total_tokens: promptTokens + completion,
    },
  }
}

const header = Effect.fnUntraced(function* (request: ChatRequest) {
  const now = yield* Clock.currentTimeMillis
  const id = yield* Random.nextIntBetween(0, Number.MAX_SAFE_INTEGER)
  return {
    id: `chatcmpl-echo-${id.toString(36)}`,
    created: Math.floor(now / 1000),
    model: request.model ?? DEFAULT_MODEL,
  }
})

const complete = Effect.fnUntraced(function* (request: ChatRequest) {
  const { content, finishReason, toolCalls, usage } = answerTo(request)
  const completion: ChatCompletion = {
    ...(yield* header(request)),
    object: "chat.completion",
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content,
          refusal: null,
          ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}),
        },
        finish_reason: finishReason,
      },
    ],
    usage,
  }
  return completion
})

type ChunkChoice = ChatChunk["choices"][number]

const chunksOf = (answer: Answer): ReadonlyArray<ChunkChoice> => [
  { index: 0, delta: { role: "assistant" }, finish_reason: null },
  ...words(answer.content ?? "").map((word) => ({
    index: 0,
    delta: { content: word },
    finish_reason: null,
  })),
  ...answer.toolCalls.flatMap((call, index) => [
    {
      index: 0,
      delta: {
        tool_calls: [
          {
            index,
            id: call.id,
            type: "function" as const,
            function: { name: call.function.name, arguments: "" },
          },
        ],
      },
      finish_reason: null,
    },
    ...words(call.function.arguments).map((piece) => ({
      index: 0,
      delta: { tool_calls: [{ index, function: { arguments: piece } }] },
      finish_reason: null,
    })),
  ]),
  { index: 0, delta: {}, finish_reason: answer.finishReason },
]

const stream = (request: ChatRequest): Stream.Stream<ChatChunk, ProviderFailure> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const answer = answerTo(request)
      const common = { ...(yield* header(request)), object: "chat.completion.chunk" as const }
      return Stream.fromIterable<ChatChunk>([
        ...chunksOf(answer).map((choice) => ({ ...common, choices: [choice] })),
        { ...common, choices: [], usage: answer.usage },
      ])
    }),
  )

export const echo: Provider = {
  id: "echo",
  apiName: "sealgate.echo",
  defaultModel: DEFAULT_MODEL,
  complete,
  stream,
  native: nativeEcho,
}
