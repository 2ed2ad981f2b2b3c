/** OpenAI Chat Completions, checked. Unknown members are kept. `chatTypes.ts` describes the members. */
import { Schema } from "effect"
import type * as Types from "./chatTypes.ts"

/** An object whose unknown members are kept. */
export const open = <const Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.StructWithRest(Schema.Struct(fields), [Schema.Record(Schema.String, Schema.Unknown)])

export const optional = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const PositiveInt = Schema.Int.check(Schema.isGreaterThan(0))

export const TextPart = open({ type: Schema.Literal("text"), text: Schema.String })
export type TextPart = Types.TextPart

export const ImagePart = open({
  type: Schema.Literal("image_url"),
  image_url: open({ url: Schema.NonEmptyString, detail: optional(Schema.String) }),
})
export type ImagePart = Types.ImagePart

export const RefusalPart = open({ type: Schema.Literal("refusal"), refusal: Schema.String })
export type RefusalPart = Types.RefusalPart

const KNOWN_PARTS: ReadonlySet<string> = new Set(["text", "image_url", "refusal"])

const OtherPart = open({
  type: Schema.NonEmptyString.check(
    Schema.makeFilter((type: string) => !KNOWN_PARTS.has(type), { message: "malformed content part" }),
  ),
})

export const ContentPart = Schema.Union([TextPart, ImagePart, RefusalPart, OtherPart])
export type ContentPart = Types.ContentPart

const Content = Schema.Union([Schema.String, Schema.Array(ContentPart)])

export const FunctionCall = open({ name: Schema.NonEmptyString, arguments: Schema.String })
export type FunctionCall = Types.FunctionCall

export const ToolCall = open({
  id: Schema.NonEmptyString,
  type: Schema.Literal("function"),
  function: FunctionCall,
})
export type ToolCall = Types.ToolCall

const SystemMessage = open({ role: Schema.Literals(["system", "developer"]), content: Content })
const UserMessage = open({ role: Schema.Literal("user"), content: Content })
type UserMessage = Types.UserMessage
export const AssistantMessage = open({
  role: Schema.Literal("assistant"),
  content: optional(Content),
  refusal: optional(Schema.String),
  tool_calls: optional(Schema.Array(ToolCall)),
})
export type AssistantMessage = Types.AssistantMessage
export const ToolMessage = open({
  role: Schema.Literal("tool"),
  tool_call_id: Schema.NonEmptyString,
  content: Content,
})
export type ToolMessage = Types.ToolMessage

export const Message = Schema.Union([SystemMessage, UserMessage, AssistantMessage, ToolMessage])
export type Message = Types.Message

const FunctionDefinition = open({
  name: Schema.NonEmptyString,
  description: optional(Schema.String),
  parameters: optional(Schema.Record(Schema.String, Schema.Unknown)),
  strict: optional(Schema.Boolean),
})

export const Tool = open({ type: Schema.Literal("function"), function: FunctionDefinition })
export type Tool = Types.Tool

export const ToolChoice = Schema.Union([
  Schema.Literals(["none", "auto", "required"]),
  open({ type: Schema.Literal("function"), function: open({ name: Schema.NonEmptyString }) }),
])
export type ToolChoice = Types.ToolChoice

export const ResponseFormat = Schema.Union([
  open({ type: Schema.Literals(["text", "json_object"]) }),
  open({
    type: Schema.Literal("json_schema"),
    json_schema: open({
      name: Schema.NonEmptyString,
      description: optional(Schema.String),
      schema: optional(Schema.Record(Schema.String, Schema.Unknown)),
      strict: optional(Schema.Boolean),
    }),
  }),
])
export type ResponseFormat = Types.ResponseFormat

const options = {
  model: Schema.optionalKey(Schema.NonEmptyString),
  stream: optional(Schema.Boolean),
  stream_options: optional(Schema.Record(Schema.String, Schema.Unknown)),
  tools: optional(Schema.Array(Tool)),
  tool_choice: optional(ToolChoice),
  parallel_tool_calls: optional(Schema.Boolean),
  response_format: optional(ResponseFormat),
  stop: optional(Schema.Union([Schema.String, Schema.Array(Schema.String)])),
  max_tokens: optional(PositiveInt),
  max_completion_tokens: optional(PositiveInt),
  temperature: optional(Schema.Finite),
  top_p: optional(Schema.Finite),
  seed: optional(Schema.Int),
  n: optional(PositiveInt),
}

/** A member that must be absent: an open schema would accept it, and `normalize` would drop one question. */
const absent = (message: string) => Schema.optionalKey(Schema.Never.annotate({ message }))

export const ChatRequest = open({
  ...options,
  messages: Schema.Array(Message).check(Schema.isMinLength(1)),
  prompt: absent("Give either messages or a prompt"),
  system: absent("system goes with prompt alone; put it into messages"),
})
export type ChatRequest = Types.ChatRequest

const PromptRequest = open({
  ...options,
  prompt: Schema.NonEmptyString,
  system: Schema.optionalKey(Schema.String),
  messages: absent("Give either messages or a prompt"),
})
type PromptRequest = Types.PromptRequest

export const ChatInput = Schema.Union([ChatRequest, PromptRequest], { mode: "oneOf" })
export type ChatInput = Types.ChatInput

const isPrompt = (input: ChatInput): input is PromptRequest => input["messages"] === undefined

/** Turns the prompt shorthand into messages. Returns a request with messages unchanged. */
export const normalize = (input: ChatInput): ChatRequest => {
  // A ChatInput with `messages` is a ChatRequest.
  if (!isPrompt(input)) return input as ChatRequest
  const { prompt, system, ...rest } = input
  const user: UserMessage = { role: "user", content: prompt }
  return { ...rest, messages: system === undefined ? [user] : [{ role: "system", content: system }, user] }
}

/** A larger count is a provider's mistake. */
export const MAX_TOKENS = 1_000_000_000

export const TokenCount = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: MAX_TOKENS }))
const OptionalCount = optional(TokenCount)

export const Usage = open({
  prompt_tokens: TokenCount,
  completion_tokens: TokenCount,
  total_tokens: TokenCount,
  prompt_tokens_details: optional(
    open({ cached_tokens: OptionalCount, cache_write_tokens: OptionalCount, cache_write_1h_tokens: OptionalCount }),
  ),
  completion_tokens_details: optional(open({ reasoning_tokens: OptionalCount })),
})
export type Usage = Types.Usage

export const FinishReason = Schema.NonEmptyString
export type FinishReason = Types.FinishReason

const Choice = open({
  index: Schema.Natural,
  message: AssistantMessage,
  finish_reason: FinishReason,
})

export const ChatCompletion = open({
  id: Schema.String,
  object: Schema.Literal("chat.completion"),
  created: Schema.Int,
  model: Schema.String,
  choices: Schema.Array(Choice).check(Schema.isMinLength(1)),
  usage: optional(Usage),
})
export type ChatCompletion = Types.ChatCompletion

export const ToolCallDelta = open({
  index: Schema.Natural,
  id: Schema.optionalKey(Schema.String),
  type: Schema.optionalKey(Schema.String),
  function: Schema.optionalKey(
    open({ name: Schema.optionalKey(Schema.String), arguments: Schema.optionalKey(Schema.String) }),
  ),
})
export type ToolCallDelta = Types.ToolCallDelta

export const Delta = open({
  role: Schema.optionalKey(Schema.String),
  content: optional(Schema.String),
  refusal: optional(Schema.String),
  tool_calls: Schema.optionalKey(Schema.Array(ToolCallDelta)),
})
export type Delta = Types.Delta

export const ChatChunk = open({
  id: Schema.String,
  object: Schema.Literal("chat.completion.chunk"),
  created: Schema.Int,
  model: Schema.String,
  choices: Schema.Array(open({ index: Schema.Natural, delta: Delta, finish_reason: optional(FinishReason) })),
  usage: optional(Usage),
})
export type ChatChunk = Types.ChatChunk
