/** Anthropic's Messages API as the vendor speaks it. */
import { parseJson } from "../../../src/domain/json/json.ts"
import { readAnthropic } from "./AnthropicRequest.ts"
import type { Call, FullAnswer } from "./FullAnswer.ts"
import type { Objection, Spent, VendorOptions } from "./Reply.ts"
import { type ErrorReply, type Frame, retryAfterHeader, type WireFormat } from "./WireFormat.ts"

const FINISH = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal",
} as const

/** Unlike OpenAI's, `input_tokens` here leaves out what came from or went to the cache. */
const usageOf = ({ cached = 0, cacheWritten = 0, input, output, reasoning = 0 }: Spent) => ({
  input_tokens: input - cached - cacheWritten,
  cache_creation_input_tokens: cacheWritten,
  cache_read_input_tokens: cached,
  output_tokens: output,
  output_tokens_details: { thinking_tokens: reasoning },
  server_tool_use: null,
})

const message = (
  { id, model }: FullAnswer,
  content: ReadonlyArray<object>,
  stop_reason: string | null,
  usage: object,
) => ({
  id,
  type: "message",
  role: "assistant",
  model,
  container: null,
  content,
  stop_reason,
  stop_sequence: null,
  stop_details: null,
  ...usage,
})

const used = (usage: Spent | null): object => (usage === null ? {} : { usage: usageOf(usage) })

const callBlock = ({ id, name }: Call, input: unknown) => ({
  type: "tool_use",
  id,
  name,
  input,
  caller: { type: "direct" },
})

const textBlock = (text: string) => ({ type: "text", text, citations: null })

/** The answer has one choice, as the API has no others. */
const whole = (answer: FullAnswer) => {
  const { calls, finish, text } = answer.choices[0]
  const content = [
    ...(text === null || text.length === 0 ? [] : [textBlock(text.join(""))]),
    ...calls.map((call) => callBlock(call, parseJson(call.pieces.join("")))),
  ]
  return message(answer, content, FINISH[finish], used(answer.usage))
}

const frame = (data: string): string => {
  const type = (parseJson(data) as { readonly type?: string } | undefined)?.type ?? "content_block_delta"
  return `event: ${type}\ndata: ${data}\n\n`
}

const event = (type: string, rest: object): string => frame(JSON.stringify({ type, ...rest }))

const blockFrames = (index: number, content_block: object, deltas: ReadonlyArray<object>): ReadonlyArray<Frame> => [
  { kind: "other", text: event("content_block_start", { index, content_block }) },
  ...deltas.map((delta): Frame => ({ kind: "content", text: event("content_block_delta", { index, delta }) })),
  { kind: "other", text: event("content_block_stop", { index }) },
]

/** A call without arguments has one empty piece. */
const argumentPieces = ({ pieces }: Call) => (pieces.join("") === "{}" ? [""] : pieces)

const frames = (answer: FullAnswer): ReadonlyArray<Frame> => {
  const { calls, finish, text } = answer.choices[0]
  const texts = text === null || text.length === 0 ? [] : [text]
  const start = used(answer.usage && { ...answer.usage, output: 1, reasoning: 0 })
  return [
    { kind: "other", text: event("message_start", { message: message(answer, [], null, start) }) },
    ...texts.flatMap((pieces) => {
      const deltas = pieces.map((text) => ({ type: "text_delta", text }))
      return blockFrames(0, textBlock(""), deltas)
    }),
    ...calls.flatMap((call, at) => {
      const deltas = argumentPieces(call).map((partial_json) => ({ type: "input_json_delta", partial_json }))
      return blockFrames(texts.length + at, callBlock(call, {}), deltas)
    }),
    {
      kind: "other",
      text: event("message_delta", {
        delta: { stop_reason: FINISH[finish], stop_sequence: null, stop_details: null, container: null },
        ...used(answer.usage),
      }),
    },
    { kind: "sentinel", text: event("message_stop", {}) },
  ]
}

const COMPLAINTS: Readonly<Record<Objection, readonly [status: number, type: string, message: string]>> = {
  "invalid-request": [400, "invalid_request_error", "Invalid request."],
  unauthorized: [401, "authentication_error", "invalid x-api-key"],
  "rate-limited": [
    429,
    "rate_limit_error",
    "This request would exceed your account's rate limit. Please try again later.",
  ],
  "server-error": [500, "api_error", "Internal server error"],
  overloaded: [529, "overloaded_error", "Overloaded"],
  "context-too-long": [400, "invalid_request_error", "prompt is too long: 205351 tokens > 200000 maximum"],
  "content-filtered": [400, "invalid_request_error", "Output blocked by content filtering policy"],
}

const error = (objection: Objection, { message, retryAfter }: VendorOptions = {}): ErrorReply => {
  const [status, type, usual] = COMPLAINTS[objection]
  return {
    status,
    headers: { "request-id": "req_fake", ...retryAfterHeader(retryAfter) },
    body: { type: "error", error: { details: null, type, message: message ?? usual }, request_id: "req_fake" },
  }
}

export const anthropic: WireFormat = {
  name: "anthropic",
  owns: (path) => path === "/v1/messages",
  key: (headers) => headers["x-api-key"],
  read: readAnthropic,
  whole,
  frames,
  frame,
  chunk: (_, text) => event("content_block_delta", { index: 0, delta: { type: "text_delta", text } }),
  error,
  errorFrame: frame(JSON.stringify(error("overloaded").body)),
}
