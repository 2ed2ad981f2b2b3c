/** OpenAI Chat Completions as the vendor speaks it. */
import { type Choice, type FullAnswer, interleave } from "./FullAnswer.ts"
import { readOpenAi } from "./OpenAiRequest.ts"
import type { Objection, Spent, VendorOptions } from "./Reply.ts"
import { type ErrorReply, type Frame, retryAfterHeader, type WireFormat } from "./WireFormat.ts"

const usageOf = ({ cached = 0, input, output, reasoning = 0 }: Spent) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: reasoning, audio_tokens: 0 },
})

const head = ({ created, id, model }: FullAnswer, object: string) => ({
  id,
  object,
  created,
  model,
  service_tier: "default",
  system_fingerprint: "fp_fake",
})

const whole = (answer: FullAnswer) => ({
  ...head(answer, "chat.completion"),
  choices: answer.choices.map(({ calls, finish, text, thoughts }, index) => ({
    index,
    message: {
      role: "assistant",
      content: text === null ? null : text.join(""),
      refusal: null,
      ...(thoughts === undefined ? {} : { reasoning_content: thoughts }),
      ...(calls.length === 0
        ? {}
        : {
            tool_calls: calls.map(({ id, name, pieces }) => ({
              id,
              type: "function",
              function: { name, arguments: pieces.join("") },
            })),
          }),
    },
    logprobs: null,
    finish_reason: finish,
  })),
  ...(answer.usage === null ? {} : { usage: usageOf(answer.usage) }),
})

const frame = (data: string): string => `data: ${data}\n\n`

const chunkFrame = (answer: FullAnswer, choices: ReadonlyArray<object>, usage: object | null = null): string =>
  frame(JSON.stringify({ ...head(answer, "chat.completion.chunk"), choices, usage }))

const choiceFrames = (
  answer: FullAnswer,
  { calls, finish, text, thoughts = "" }: Choice,
  index: number,
): ReadonlyArray<Frame> => {
  const piece = (kind: Frame["kind"], delta: object, finish_reason: string | null = null): Frame => ({
    kind,
    text: chunkFrame(answer, [{ index, delta, logprobs: null, finish_reason }]),
  })
  return [
    piece("other", { role: "assistant", content: text === null ? null : "", refusal: null }),
    ...(thoughts.match(/.{1,8}/gsu) ?? []).map((some) => piece("other", { content: null, reasoning_content: some })),
    ...(text ?? []).map((content) => piece("content", { content })),
    ...calls.flatMap(({ id, name, pieces }, at) => [
      piece("other", { tool_calls: [{ index: at, id, type: "function", function: { name, arguments: "" } }] }),
      ...pieces.map((args) => piece("content", { tool_calls: [{ index: at, function: { arguments: args } }] })),
    ]),
    piece("other", {}, finish),
  ]
}

const frames = (answer: FullAnswer, withUsage: boolean): ReadonlyArray<Frame> => [
  ...interleave(answer.choices.map((choice, index) => choiceFrames(answer, choice, index))),
  ...(withUsage && answer.usage !== null
    ? [{ kind: "other" as const, text: chunkFrame(answer, [], usageOf(answer.usage)) }]
    : []),
  { kind: "sentinel", text: frame("[DONE]") },
]

const INVALID = "invalid_request_error"

type Complaint = readonly [status: number, type: string, code: string | null, message: string, param?: string]

const COMPLAINTS: Readonly<Record<Objection, Complaint>> = {
  "invalid-request": [400, INVALID, null, "Invalid request."],
  unauthorized: [401, INVALID, "invalid_api_key", "Incorrect API key provided: sk-***."],
  "rate-limited": [429, "requests", "rate_limit_exceeded", "Rate limit reached for requests."],
  "server-error": [500, "server_error", null, "The server had an error while processing your request."],
  overloaded: [503, "service_unavailable", null, "The engine is currently overloaded, please try again later."],
  "context-too-long": [
    400,
    INVALID,
    "context_length_exceeded",
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 205351 tokens.",
    "messages",
  ],
  "content-filtered": [400, INVALID, "content_filter", "The response was filtered due to the prompt.", "prompt"],
}

const error = (objection: Objection, options: VendorOptions = {}): ErrorReply => {
  const [status, type, code, usual, param = null] = COMPLAINTS[objection]
  return {
    status,
    headers: retryAfterHeader(options.retryAfter),
    body: { error: { message: options.message ?? usual, type, param, code } },
  }
}

export const openAi: WireFormat = {
  name: "openai",
  owns: (path) => path === "/v1/chat/completions",
  key: (headers) => /^Bearer (.+)$/.exec(headers["authorization"] ?? "")?.[1],
  read: readOpenAi,
  whole,
  frames,
  frame,
  chunk: (answer, content) => chunkFrame(answer, [{ index: 0, delta: { content }, finish_reason: null }]),
  error,
  errorFrame: frame(JSON.stringify(error("server-error").body)),
}
