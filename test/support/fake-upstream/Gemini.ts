/** Google's Gemini API (generateContent) as the vendor speaks it. */
import { parseJson } from "../../../src/domain/json/json.ts"
import { ownsGemini, readGemini } from "./GeminiRequest.ts"
import type { Objection, Spent, VendorOptions } from "./Reply.ts"
import type { Said } from "./Said.ts"
import { type ErrorReply, type Frame, retryAfterHeader, type WireFormat } from "./WireFormat.ts"

const FINISH = {
  stop: "STOP",
  length: "MAX_TOKENS",
  tool_calls: "STOP",
  content_filter: "SAFETY",
  context: "MAX_TOKENS",
} as const

/** Unlike OpenAI's completion tokens, `candidatesTokenCount` leaves out what went into thinking. */
const usageOf = (spent: Spent) => ({
  promptTokenCount: spent.input,
  candidatesTokenCount: spent.output - (spent.reasoning ?? 0),
  totalTokenCount: spent.input + spent.output,
  ...(spent.cached === undefined ? {} : { cachedContentTokenCount: spent.cached }),
  ...(spent.reasoning === undefined ? {} : { thoughtsTokenCount: spent.reasoning }),
  promptTokensDetails: [{ modality: "TEXT", tokenCount: spent.input }],
})

const common = (said: Said) => ({
  ...(said.usage === null ? {} : { usageMetadata: usageOf(said.usage) }),
  modelVersion: said.model,
  responseId: said.id,
})

/** Gemini does not send a call with malformed JSON. It ends with a finish reason for it. */
const isCall = (call: Said["calls"][number]): boolean => parseJson(call.pieces.join("")) !== undefined

const callPart = (call: Said["calls"][number]) => ({
  functionCall: {
    ...(call.id === "" ? {} : { id: call.id }),
    name: call.name,
    args: parseJson(call.pieces.join("")),
  },
  ...(call.signature === undefined ? {} : { thoughtSignature: call.signature }),
})

const ending = (said: Said) => {
  if (!said.calls.every(isCall)) {
    return { finishReason: "MALFORMED_FUNCTION_CALL", finishMessage: "Malformed function call" }
  }
  return said.refusal === undefined
    ? { finishReason: FINISH[said.finish] }
    : { finishReason: "SAFETY", finishMessage: said.refusal }
}

const indices = (said: Said): ReadonlyArray<number> => Array.from({ length: said.asked.choices }, (_, index) => index)

const whole = (said: Said) => {
  const parts = [
    ...(said.thinking === undefined ? [] : [{ text: said.thinking, thought: true }]),
    ...(said.chunks.length === 0 ? [] : [{ text: said.chunks.join("") }]),
    ...said.calls.filter(isCall).map(callPart),
  ]
  return {
    candidates: indices(said).map((index) => ({
      ...(parts.length === 0 ? {} : { content: { parts, role: "model" } }),
      ...ending(said),
      index,
    })),
    ...common(said),
  }
}

/** Gemini ends its lines with CR LF. */
const frame = (data: string): string => `data: ${data}\r\n\r\n`

const partFrame = (said: Said, index: number, part: unknown): string =>
  frame(JSON.stringify({ candidates: [{ content: { parts: [part], role: "model" }, index }], ...common(said) }))

const frames = (said: Said): ReadonlyArray<Frame> =>
  indices(said).flatMap((index) => [
    ...(said.thinking === undefined
      ? []
      : [{ kind: "other" as const, text: partFrame(said, index, { text: said.thinking, thought: true }) }]),
    ...[...said.chunks.map((text) => ({ text })), ...said.calls.filter(isCall).map(callPart)].map((part): Frame => ({
      kind: "content",
      text: partFrame(said, index, part),
    })),
    {
      kind: "other",
      text: frame(
        JSON.stringify({
          candidates: [{ content: { parts: [{ text: "" }], role: "model" }, ...ending(said), index }],
          ...common(said),
        }),
      ),
    },
  ])

const COMPLAINTS: Readonly<Record<Objection, readonly [status: number, name: string, message: string]>> = {
  "invalid-request": [400, "INVALID_ARGUMENT", "Request contains an invalid argument."],
  unauthorized: [400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."],
  forbidden: [403, "PERMISSION_DENIED", "The caller does not have permission"],
  "rate-limited": [
    429,
    "RESOURCE_EXHAUSTED",
    "You exceeded your current quota, please check your plan and billing details.",
  ],
  "server-error": [500, "INTERNAL", "An internal error has occurred. Please retry."],
  overloaded: [503, "UNAVAILABLE", "The model is overloaded. Please try again later."],
  "context-too-long": [
    400,
    "INVALID_ARGUMENT",
    "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
  ],
  "content-filtered": [200, "OK", ""],
}

const rpc = (name: string, value: object) => ({ "@type": `type.googleapis.com/google.rpc.${name}`, ...value })

const detailsOf = (objection: Objection, retryAfter: VendorOptions["retryAfter"]): ReadonlyArray<object> => [
  ...(objection === "unauthorized"
    ? [
        rpc("ErrorInfo", {
          reason: "API_KEY_INVALID",
          domain: "googleapis.com",
          metadata: { service: "generativelanguage.googleapis.com" },
        }),
      ]
    : []),
  ...(objection === "rate-limited"
    ? [rpc("QuotaFailure", { violations: [{ quotaMetric: "generate_content_requests", quotaValue: "10" }] })]
    : []),
  ...(typeof retryAfter === "number" ? [rpc("RetryInfo", { retryDelay: `${retryAfter}s` })] : []),
]

const error = (objection: Objection, { message, retryAfter }: VendorOptions = {}): ErrorReply => {
  const [status, name, usual] = COMPLAINTS[objection]
  if (objection === "content-filtered") {
    const usage = { promptTokenCount: 8, totalTokenCount: 8 }
    return {
      status,
      body: { promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, usageMetadata: usage, modelVersion: "fake" },
    }
  }
  const details = detailsOf(objection, retryAfter)
  return {
    status,
    headers: typeof retryAfter === "number" ? {} : retryAfterHeader(retryAfter),
    body: {
      error: { code: status, message: message ?? usual, status: name, ...(details.length === 0 ? {} : { details }) },
    },
  }
}

export const gemini: WireFormat = {
  name: "gemini",
  owns: ownsGemini,
  key: ({ headers, query }) => headers["x-goog-api-key"] ?? query.get("key") ?? undefined,
  read: readGemini,
  streamType: "text/event-stream",
  answerHeaders: () => ({ server: "scaffolding on HTTPServer2" }),
  whole,
  frames,
  frame,
  ping: ": ping\r\n\r\n",
  chunk: (said, text) => partFrame(said, 0, { text }),
  error,
  missingKey: error("forbidden", {
    message:
      "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
  }),
  errorFrame: frame(JSON.stringify(error("overloaded").body)),
}
