/**
 * How long a request is, before anybody counted. Tokenizers differ, so this errs on the long side: three bytes of UTF-8
 * per token where English text has about four and Chinese about three, so what is estimated to fit fits. Costs that are
 * estimated from it are compared with each other, and charged to a job's limits where the provider counts nothing.
 */
import type { ChatRequest, Message } from "../../domain/chat/chat.ts"

const BYTES_PER_TOKEN = 3
/** Roles, separators and the like. */
const TOKENS_PER_MESSAGE = 4
/** What a picture of common size costs at most providers, whether linked or inline. */
const TOKENS_PER_IMAGE = 1500
/** Assumed length of an answer whose length the request does not limit. */
const EXPECTED_OUTPUT_TOKENS = 1000

export const tokensOfBytes = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN)

const tokensOfText = (text: string): number => tokensOfBytes(Buffer.byteLength(text))

const tokensOfContent = (content: Message["content"]): number => {
  if (content == null) return 0
  if (typeof content === "string") return tokensOfText(content)
  return content.reduce(
    (sum, part) => sum + (part.type === "image_url" ? TOKENS_PER_IMAGE : tokensOfText(JSON.stringify(part))),
    0,
  )
}

/** Estimated input tokens of a request: messages, tool calls, tools and the schema of the answer. */
export const estimateInput = (request: ChatRequest): number =>
  request.messages.reduce(
    (sum, message) => sum + TOKENS_PER_MESSAGE + tokensOfContent(message.content) + tokensOfJson(message["tool_calls"]),
    tokensOfJson(request.tools) + tokensOfJson(request.response_format),
  )

const tokensOfJson = (value: unknown): number => (value == null ? 0 : tokensOfText(JSON.stringify(value)))

/** How long the answer is taken to be: as long as the request allows, if it says so. */
export const expectedOutput = (request: ChatRequest): number =>
  request.max_completion_tokens ?? request.max_tokens ?? EXPECTED_OUTPUT_TOKENS
