/** Anthropic's Messages API as the vendor speaks it. */
import { parseJson } from "../../../src/domain/json/json.ts"
import { readAnthropic } from "./AnthropicRequest.ts"
import type { Objection, Spent, VendorOptions } from "./Reply.ts"
import type { Said } from "./Said.ts"
import { type ErrorReply, type Frame, retryAfterHeader, type WireFormat } from "./WireFormat.ts"

const FINISH = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal",
  context: "model_context_window_exceeded",
} as const

const ending = (said: Said) => {
  const refused = said.refusal !== undefined || said.finish === "content_filter"
  return {
    stop_reason: refused ? "refusal" : said.stoppedAt !== undefined ? "stop_sequence" : FINISH[said.finish],
    stop_sequence: said.stoppedAt ?? null,
    stop_details: refused ? { type: "refusal", category: null, explanation: said.refusal ?? null } : null,
  }
}

/** Unlike OpenAI's, `input_tokens` here leaves out what came from or went to the cache. */
const usageOf = (spent: Spent) => ({
  input_tokens: spent.input - (spent.cached ?? 0) - (spent.cacheWritten ?? 0),
  cache_creation_input_tokens: spent.cacheWritten ?? 0,
  cache_read_input_tokens: spent.cached ?? 0,
  output_tokens: spent.output,
  output_tokens_details: { thinking_tokens: spent.reasoning ?? 0 },
  server_tool_use: null,
})

const startUsage = (spent: Spent) => ({
  ...usageOf({ ...spent, output: 1, reasoning: 0 }),
  cache_creation: { ephemeral_5m_input_tokens: spent.cacheWritten ?? 0, ephemeral_1h_input_tokens: 0 },
  inference_geo: null,
  service_tier: "standard",
  speed: null,
})

const message = (said: Said) => ({
  id: `msg_${said.id}`,
  type: "message",
  role: "assistant",
  model: said.model,
  container: null,
  diagnostics: null,
})

const callBlock = (call: Said["calls"][number], input: unknown) => ({
  type: "tool_use",
  id: call.id,
  name: call.name,
  input,
  caller: { type: "direct" },
})

const SIGNATURE = "c2lnbmF0dXJl"

const whole = (said: Said) => ({
  ...message(said),
  content: [
    ...(said.thinking === undefined ? [] : [{ type: "thinking", thinking: said.thinking, signature: SIGNATURE }]),
    ...(said.chunks.length === 0 ? [] : [{ type: "text", text: said.chunks.join(""), citations: null }]),
    ...said.calls.map((call) => callBlock(call, parseJson(call.pieces.join("")))),
  ],
  ...ending(said),
  ...(said.usage === null ? {} : { usage: { ...startUsage(said.usage), ...usageOf(said.usage) } }),
})

const frame = (data: string): string => {
  const type = (parseJson(data) as { readonly type?: string } | undefined)?.type
  return type === undefined ? `event: content_block_delta\ndata: ${data}\n\n` : `event: ${type}\ndata: ${data}\n\n`
}

const event = (type: string, rest: object): string => frame(JSON.stringify({ type, ...rest }))

const block = (
  index: number,
  start: unknown,
  deltas: ReadonlyArray<{ readonly type: string; readonly [key: string]: string }>,
  kind: Frame["kind"] = "content",
): ReadonlyArray<Frame> => [
  { kind: "other", text: event("content_block_start", { index, content_block: start }) },
  ...deltas.map((delta): Frame => ({ kind, text: event("content_block_delta", { index, delta }) })),
  { kind: "other", text: event("content_block_stop", { index }) },
]

const frames = (said: Said): ReadonlyArray<Frame> => {
  const thoughts = said.thinking === undefined ? 0 : 1
  const texts = said.chunks.length === 0 ? 0 : 1
  return [
    {
      kind: "other",
      text: event("message_start", {
        message: {
          ...message(said),
          content: [],
          stop_reason: null,
          stop_sequence: null,
          stop_details: null,
          ...(said.usage === null ? {} : { usage: startUsage(said.usage) }),
        },
      }),
    },
    ...(said.thinking === undefined
      ? []
      : block(
          0,
          { type: "thinking", thinking: "", signature: "" },
          [
            { type: "thinking_delta", thinking: said.thinking },
            { type: "signature_delta", signature: SIGNATURE },
          ],
          "other",
        )),
    ...(texts === 0
      ? []
      : block(
          thoughts,
          { type: "text", text: "", citations: null },
          said.chunks.map((text) => ({ type: "text_delta", text })),
        )),
    ...said.calls.flatMap((call, position) =>
      block(
        thoughts + texts + position,
        callBlock(call, {}),
        call.pieces.map((piece) => ({ type: "input_json_delta", partial_json: piece })),
      ),
    ),
    {
      kind: "other",
      text: event("message_delta", {
        delta: { ...ending(said), container: null },
        ...(said.usage === null ? {} : { usage: usageOf(said.usage) }),
      }),
    },
    { kind: "sentinel", text: event("message_stop", {}) },
  ]
}

const COMPLAINTS: Readonly<Record<Objection, readonly [status: number, type: string, message: string]>> = {
  "invalid-request": [400, "invalid_request_error", "Invalid request."],
  unauthorized: [401, "authentication_error", "invalid x-api-key"],
  forbidden: [403, "permission_error", "Your API key does not have permission to use the specified resource."],
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
  // Older clients send x-api-key, those of version 2026-10-21 a bearer token.
  key: ({ headers }) => headers["x-api-key"] ?? /^Bearer (.+)$/.exec(headers["authorization"] ?? "")?.[1],
  read: readAnthropic,
  streamType: "text/event-stream; charset=utf-8",
  answerHeaders: (said) => ({ "request-id": `req_${said.id}`, "anthropic-organization-id": "org_fake" }),
  whole,
  frames,
  frame,
  ping: event("ping", {}),
  chunk: (_said, text) => event("content_block_delta", { index: 0, delta: { type: "text_delta", text } }),
  error,
  missingKey: error("unauthorized", { message: "x-api-key header is required" }),
  errorFrame: frame(JSON.stringify(error("overloaded").body)),
}
