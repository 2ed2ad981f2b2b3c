/**
 * The built-in provider: answers with what it was sent, or to a question of the demo conversation as a model would. It makes the product usable without a key, and tests and demo
 * run on it. It cannot judge anything, and every receipt shows its name.
 */
import { Clock, Effect, Random, Stream } from "effect"
import type { ChatChunk, ChatRequest, Delta, Usage } from "../../../../domain/chat/chat.ts"
import { DEMO_CONVERSATION } from "../../../../domain/chat/demoConversation.ts"
import { accumulate } from "../../../../domain/chat/chatStream.ts"
import { parseJson } from "../../../../domain/json/json.ts"
import { inTurns } from "../../../inTurns.ts"
import type { Provider } from "../../Provider.ts"
import { countTokens, textOf, words } from "./echoText.ts"
import { nativeEcho } from "./nativeEcho.ts"

const DEFAULT_MODEL = "echo-1"

/** The names of tools that the last message asks for: by `tool_choice`, else those that the user's text mentions. */
const toolsFor = (request: ChatRequest, text: string): ReadonlyArray<string> => {
  const names = (request.tools ?? []).map((tool) => tool.function.name)
  const choice = request.tool_choice ?? "auto"
  if (request.messages.at(-1)?.role !== "user" || choice === "none") return []
  const mentioned = names.filter((name) =>
    typeof choice === "object" ? name === choice.function.name : choice === "required" || text.includes(name),
  )
  return request.parallel_tool_calls === false || choice === "required" ? mentioned.slice(0, 1) : mentioned
}

/** A JSON object in a text, or else the text as an object. */
const argumentsIn = (text: string): string => {
  const start = text.indexOf("{")
  const json = start === -1 ? "" : text.slice(start, text.lastIndexOf("}") + 1)
  return parseJson(json) !== undefined ? json : JSON.stringify({ prompt: text })
}

type Choice = ChatChunk["choices"][number]

const piece = (delta: Delta, finish_reason: Choice["finish_reason"] = null): Choice => ({
  index: 0,
  delta,
  finish_reason,
})

const demoAnswer = (text: string): string | undefined =>
  Object.hasOwn(DEMO_CONVERSATION, text) ? DEMO_CONVERSATION[text] : undefined

/** The usage of an answer, and its choices: one per chunk. */
const answerTo = (request: ChatRequest): { readonly choices: ReadonlyArray<Choice>; readonly usage: Usage } => {
  const text = textOf(request.messages.at(-1)?.content)
  const prompt = countTokens(request.messages.map(({ content }) => textOf(content)).join(" "))
  const usageOf = (completion: number): Usage => ({
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
  })
  const tools = toolsFor(request, text)
  if (tools.length > 0) {
    const args = argumentsIn(text)
    const calls = tools.flatMap((name, index) => [
      piece({
        tool_calls: [{ index, id: `call_echo_${index}`, type: "function", function: { name, arguments: "" } }],
      }),
      ...words(args).map((word) => piece({ tool_calls: [{ index, function: { arguments: word } }] })),
    ])
    return {
      choices: [piece({ role: "assistant" }), ...calls, piece({}, "tool_calls")],
      usage: usageOf(tools.length * countTokens(args)),
    }
  }
  const limit = request.max_completion_tokens ?? request.max_tokens ?? Infinity
  const all = words(demoAnswer(text) ?? text)
  const said = all.slice(0, limit)
  return {
    choices: [
      piece({ role: "assistant", content: "" }),
      ...said.map((content) => piece({ content })),
      piece({}, said.length < all.length ? "length" : "stop"),
    ],
    usage: usageOf(said.length),
  }
}

const chunksFor = Effect.fnUntraced(function* (request: ChatRequest) {
  const { choices, usage } = answerTo(request)
  const id = yield* Random.nextIntBetween(0, Number.MAX_SAFE_INTEGER)
  const common = {
    id: `chatcmpl-echo-${id.toString(36)}`,
    object: "chat.completion.chunk",
    created: Math.floor((yield* Clock.currentTimeMillis) / 1000),
    model: request.model ?? DEFAULT_MODEL,
  } as const
  const chunks: ReadonlyArray<ChatChunk> = [
    ...choices.map((choice) => ({ ...common, choices: [choice] })),
    { ...common, choices: [], usage },
  ]
  return chunks
})

export const echo: Provider = {
  id: "echo",
  apiName: "sealgate.echo",
  defaultModel: DEFAULT_MODEL,
  complete: (request) => Effect.map(chunksFor(request), accumulate),
  stream: (request) => Stream.unwrap(Effect.map(chunksFor(request), inTurns)),
  native: nativeEcho,
}
