/** OpenAI Chat Completions as the vendor speaks it. */
import { readOpenAi } from "./OpenAiRequest.ts"
import type { Objection, Spent, VendorOptions } from "./Reply.ts"
import type { Said } from "./Said.ts"
import { type ErrorReply, type Frame, retryAfterHeader, type WireFormat } from "./WireFormat.ts"

const FINISH = {
  stop: "stop",
  length: "length",
  tool_calls: "tool_calls",
  content_filter: "content_filter",
  context: "length",
} as const

const usageOf = (spent: Spent) => ({
  prompt_tokens: spent.input,
  completion_tokens: spent.output,
  total_tokens: spent.input + spent.output,
  prompt_tokens_details: { cached_tokens: spent.cached ?? 0, audio_tokens: 0 },
  completion_tokens_details: {
    reasoning_tokens: spent.reasoning ?? 0,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
})

const extra = (signature: string | undefined) =>
  signature === undefined ? {} : { extra_content: { google: { thought_signature: signature } } }

const indices = (said: Said): ReadonlyArray<number> => Array.from({ length: said.asked.choices }, (_, index) => index)

const common = (said: Said, object: string) => ({
  id: `chatcmpl-${said.id}`,
  object,
  created: said.created,
  model: said.model,
  service_tier: "default",
  system_fingerprint: "fp_fake",
})

const whole = (said: Said) => ({
  ...common(said, "chat.completion"),
  choices: indices(said).map((index) => ({
    index,
    message: {
      role: "assistant",
      content:
        said.refusal !== undefined || (said.chunks.length === 0 && said.calls.length > 0) ? null : said.chunks.join(""),
      refusal: said.refusal ?? null,
      annotations: [],
      ...(said.thinking === undefined ? {} : { reasoning_content: said.thinking }),
      ...(said.calls.length === 0
        ? {}
        : {
            tool_calls: said.calls.map((call) => ({
              id: call.id,
              type: "function",
              function: { name: call.name, arguments: call.pieces.join("") },
              ...extra(call.signature),
            })),
          }),
    },
    logprobs: null,
    finish_reason: FINISH[said.finish],
  })),
  ...(said.usage === null ? {} : { usage: usageOf(said.usage) }),
})

const frame = (data: string): string => `data: ${data}\n\n`

const chunkFrame = (said: Said, index: number, delta: unknown, finish: string | null = null): string =>
  frame(
    JSON.stringify({
      ...common(said, "chat.completion.chunk"),
      choices: [{ index, delta, logprobs: null, finish_reason: finish }],
      ...(said.asked.usage ? { usage: null } : {}),
    }),
  )

const choiceFrames = (said: Said, index: number): ReadonlyArray<Frame> => {
  const content = (delta: unknown): Frame => ({ kind: "content", text: chunkFrame(said, index, delta) })
  const other = (delta: unknown, finish?: string): Frame => ({
    kind: "other",
    text: chunkFrame(said, index, delta, finish ?? null),
  })
  const silent = said.chunks.length === 0 && said.calls.length > 0
  return [
    other({ role: "assistant", content: silent ? null : "", refusal: null }),
    ...(said.thinking === undefined ? [] : [other({ reasoning_content: said.thinking })]),
    ...said.chunks.map((text) => content({ content: text })),
    ...(said.refusal === undefined ? [] : [content({ refusal: said.refusal })]),
    ...said.calls.flatMap((call, position) => [
      other({
        tool_calls: [
          {
            index: position,
            id: call.id,
            type: "function",
            function: { name: call.name, arguments: "" },
            ...extra(call.signature),
          },
        ],
      }),
      ...call.pieces.map((piece) => content({ tool_calls: [{ index: position, function: { arguments: piece } }] })),
    ]),
    other({}, FINISH[said.finish]),
  ]
}

/** The choices of one request advance side by side. */
const interleave = (choices: ReadonlyArray<ReadonlyArray<Frame>>): ReadonlyArray<Frame> =>
  (choices[0] ?? []).flatMap((_, position) => choices.flatMap((frames) => frames[position] ?? []))

const frames = (said: Said): ReadonlyArray<Frame> => [
  ...interleave(indices(said).map((index) => choiceFrames(said, index))),
  ...(said.asked.usage && said.usage !== null
    ? [
        {
          kind: "other" as const,
          text: frame(
            JSON.stringify({ ...common(said, "chat.completion.chunk"), choices: [], usage: usageOf(said.usage) }),
          ),
        },
      ]
    : []),
  { kind: "sentinel", text: frame("[DONE]") },
]

const INVALID = "invalid_request_error"

type Complaint = readonly [status: number, type: string, code: string | null, message: string, param?: string]

const COMPLAINTS: Readonly<Record<Objection, Complaint>> = {
  "invalid-request": [400, INVALID, null, "Invalid request."],
  unauthorized: [401, INVALID, "invalid_api_key", "Incorrect API key provided: sk-***."],
  forbidden: [403, INVALID, null, "You are not allowed to do this."],
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
  key: ({ headers }) => /^Bearer (.+)$/.exec(headers["authorization"] ?? "")?.[1],
  read: readOpenAi,
  streamType: "text/event-stream; charset=utf-8",
  answerHeaders: (said) => ({ "x-request-id": `req_${said.id}`, "openai-version": "2020-10-01" }),
  whole,
  frames,
  frame,
  ping: ": ping\n\n",
  chunk: (said, text) => chunkFrame(said, 0, { content: text }),
  error,
  missingKey: {
    status: 401,
    body: {
      error: { message: "You didn't provide an API key.", type: "invalid_request_error", param: null, code: null },
    },
  },
  errorFrame: frame(JSON.stringify(error("server-error").body)),
}
