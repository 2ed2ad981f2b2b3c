/**
 * Estimates the length of a request. Tokenizers differ, so estimates err on the long side: three bytes of UTF-8 per
 * token, while English text has about four and Chinese about three. Estimated costs are compared with each other, and
 * charged to a job's limits if the provider reports no usage.
 */
import type { ChatRequest, Message } from "../../domain/chat/chat.ts"
import { messageStateOf } from "../../domain/chat/messageState.ts"

const BYTES_PER_TOKEN = 3
/** Roles, separators and the like. */
const TOKENS_PER_MESSAGE = 4
/** The cost of a common picture at most providers, linked or inline. */
export const TOKENS_PER_IMAGE = 1500
/** Assumed length of an answer without a limit. */
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

/** Estimated input tokens of a request: messages with their tool calls and state, tools and the schema of the answer. */
export const estimateInput = (request: ChatRequest): number =>
  request.messages.reduce(
    (sum, message) => sum + TOKENS_PER_MESSAGE + tokensOfContent(message.content) + tokensOfRest(message),
    tokensOfJson(request.tools) + tokensOfJson(request.response_format),
  )

const tokensOfRest = (message: Message): number => {
  if (message.role !== "assistant") return 0
  const members: ReadonlyArray<unknown> = [message.tool_calls, ...Object.values(messageStateOf(message))]
  return members.reduce<number>((sum, member) => sum + tokensOfJson(member), 0)
}

const tokensOfJson = (value: unknown): number => (value == null ? 0 : tokensOfText(JSON.stringify(value)))

/** The length of a request and of its answer, in tokens. */
export interface RequestSize {
  /** Estimated, and meant as a bound of the cost. */
  readonly input: number
  /** Estimated for comparison with a context: inline files count like pictures. Default: `input`. */
  readonly prompt?: number
  /** The request's limit for each choice; 0 if the answer is no text, `undefined` without a limit. */
  readonly limit: number | undefined
  readonly choices: number
}

export const chatSize = (request: ChatRequest): RequestSize => ({
  input: estimateInput(request),
  limit: request.max_completion_tokens ?? request.max_tokens ?? undefined,
  choices: request.n ?? 1,
})

/** Expected length of the answer: the request's limit, or `otherwise`, for each choice. */
export const expectedOutput = ({ choices, limit }: RequestSize, otherwise = EXPECTED_OUTPUT_TOKENS): number =>
  choices * (limit ?? otherwise)

/** The shortest useful answer. */
export const leastOutput = ({ choices, limit }: RequestSize): number => (limit === 0 ? 0 : choices)
