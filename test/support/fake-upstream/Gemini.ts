/** Google's Gemini API (generateContent) as the vendor speaks it. */
import { parseJson } from "../../../src/domain/json/json.ts"
import { type Call, type Choice, type FullAnswer, interleave } from "./FullAnswer.ts"
import { ownsGemini, readGemini } from "./GeminiRequest.ts"
import type { Objection, Spent, VendorOptions } from "./Reply.ts"
import { type ErrorReply, type Frame, type WireFormat } from "./WireFormat.ts"

const FINISH = {
  stop: "STOP",
  length: "MAX_TOKENS",
  tool_calls: "STOP",
  content_filter: "SAFETY",
} as const

/** Unlike OpenAI's completion tokens, `candidatesTokenCount` leaves out what went into thinking. */
const usageOf = ({ cached = 0, input, output, reasoning = 0 }: Spent) => ({
  promptTokenCount: input,
  cachedContentTokenCount: cached,
  candidatesTokenCount: output - reasoning,
  thoughtsTokenCount: reasoning,
  totalTokenCount: input + output,
  promptTokensDetails: [{ modality: "TEXT", tokenCount: input }],
})

const response = ({ id, model, usage }: FullAnswer, candidates: ReadonlyArray<object>) => ({
  candidates,
  ...(usage === null ? {} : { usageMetadata: usageOf(usage) }),
  modelVersion: model,
  responseId: id,
})

const callPart = ({ id, name, pieces }: Call) => ({ functionCall: { id, name, args: parseJson(pieces.join("")) } })

const candidate = (index: number, parts: ReadonlyArray<object>, end: object = {}) => ({
  content: { parts, role: "model" },
  ...end,
  index,
})

const whole = (answer: FullAnswer) =>
  response(
    answer,
    answer.choices.map(({ calls, finish, text }, index) => {
      const parts = [...(text === null ? [] : [{ text: text.join("") }]), ...calls.map(callPart)]
      return candidate(index, parts, { finishReason: FINISH[finish] })
    }),
  )

/** Gemini ends its lines with CR LF. */
const frame = (data: string): string => `data: ${data}\r\n\r\n`

const frameOf = (answer: FullAnswer, part: object): string => frame(JSON.stringify(response(answer, [part])))

const choiceFrames = (answer: FullAnswer, { calls, finish, text }: Choice, index: number): ReadonlyArray<Frame> => [
  ...[...(text ?? []).map((piece) => ({ text: piece })), ...calls.map(callPart)].map((part): Frame => ({
    kind: "content",
    text: frameOf(answer, candidate(index, [part])),
  })),
  { kind: "other", text: frameOf(answer, candidate(index, [{ text: "" }], { finishReason: FINISH[finish] })) },
]

/** Counts in frames before the last are of the answer so far. */
const frames = (answer: FullAnswer): ReadonlyArray<Frame> => {
  const { usage } = answer
  const soFar = { ...answer, usage: usage && { ...usage, output: usage.reasoning ?? 0 } }
  const framesOf = (answer: FullAnswer) =>
    interleave(answer.choices.map((choice, index) => choiceFrames(answer, choice, index)))
  return [...framesOf(soFar).slice(0, -1), ...framesOf(answer).slice(-1)]
}

const COMPLAINTS: Readonly<Record<Objection, readonly [status: number, name: string, message: string]>> = {
  "invalid-request": [400, "INVALID_ARGUMENT", "Request contains an invalid argument."],
  unauthorized: [400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."],
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

const error = (objection: Objection, { message, retryAfter }: VendorOptions = {}): ErrorReply => {
  const [status, name, usual] = COMPLAINTS[objection]
  if (objection === "content-filtered") {
    return { status, body: { promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, modelVersion: "fake" } }
  }
  const details = [
    ...(objection === "unauthorized" ? [rpc("ErrorInfo", { reason: "API_KEY_INVALID" })] : []),
    ...(retryAfter === undefined ? [] : [rpc("RetryInfo", { retryDelay: `${retryAfter}s` })]),
  ]
  return {
    status,
    body: { error: { code: status, message: message ?? usual, status: name, details } },
  }
}

export const gemini: WireFormat = {
  name: "gemini",
  owns: ownsGemini,
  key: (headers) => headers["x-goog-api-key"],
  read: readGemini,
  whole,
  frames,
  frame,
  chunk: (answer, text) => frameOf(answer, candidate(0, [{ text }])),
  error,
  errorFrame: frame(JSON.stringify(error("overloaded").body)),
}
