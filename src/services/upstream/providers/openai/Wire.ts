/** Answers of OpenAI-compatible servers in practice: members that this product can supply may be missing. */
import { Schema } from "effect"
import { ContentPart, open, optional, TokenCount } from "../../../../domain/chat/chat.ts"

const envelope = {
  id: Schema.optionalKey(Schema.Unknown),
  object: Schema.optionalKey(Schema.Unknown),
  created: Schema.optionalKey(Schema.Unknown),
  model: Schema.optionalKey(Schema.Unknown),
  /** Decoded leniently and separately, because usage of an odd shape does not make an answer worthless. */
  usage: Schema.optionalKey(Schema.Unknown),
}

/** Text in the format; some servers send the object itself. */
const Arguments = Schema.Union([Schema.String, Schema.Record(Schema.String, Schema.Unknown)])
export type Arguments = typeof Arguments.Type

const FunctionPiece = open({ name: optional(Schema.String), arguments: optional(Arguments) })

const FunctionCall = open({
  id: optional(Schema.String),
  type: optional(Schema.Literals(["function", ""])),
  function: open({ name: Schema.NonEmptyString, arguments: optional(Arguments) }),
})

/** The type of a tool other than a function, such as `custom`; `undefined` for functions. */
export const otherType = (type: string | null | undefined): string | undefined =>
  !type || type === "function" ? undefined : type

/** A call of such a tool, which is passed on as it is. */
const OtherCall = open({
  type: Schema.String.check(Schema.makeFilter((type: string) => otherType(type) !== undefined)),
})

const ToolCall = Schema.Union([FunctionCall, OtherCall])
type ToolCall = typeof ToolCall.Type
export const isFunctionCall = (call: ToolCall): call is typeof FunctionCall.Type => otherType(call.type) === undefined

const Content = Schema.Union([Schema.String, Schema.Array(ContentPart)])

export const Message = open({
  content: optional(Content),
  refusal: optional(Schema.String),
  tool_calls: optional(Schema.Array(ToolCall)),
})
export type Message = typeof Message.Type

export const Completion = open({
  ...envelope,
  choices: Schema.NonEmptyArray(
    open({
      index: optional(Schema.Natural),
      message: Message,
      finish_reason: optional(Schema.String),
    }),
  ),
})
export type Completion = typeof Completion.Type

const ToolCallPiece = open({
  index: optional(Schema.Natural),
  id: optional(Schema.String),
  type: optional(Schema.String),
  function: optional(FunctionPiece),
})
export type ToolCallPiece = typeof ToolCallPiece.Type

const ChunkDelta = open({
  role: optional(Schema.String),
  content: optional(Content),
  refusal: optional(Schema.String),
  tool_calls: optional(Schema.Array(ToolCallPiece)),
})
export type ChunkDelta = typeof ChunkDelta.Type

const ChunkChoice = open({
  index: optional(Schema.Natural),
  delta: optional(ChunkDelta),
  /** Only a whole answer should have this member. */
  message: Schema.optionalKey(Schema.Unknown),
  finish_reason: optional(Schema.String),
})
export type ChunkChoice = typeof ChunkChoice.Type

export const Chunk = open({ ...envelope, choices: optional(Schema.Array(ChunkChoice)) })
export type Chunk = typeof Chunk.Type

export const Usage = open({
  prompt_tokens: optional(TokenCount),
  completion_tokens: optional(TokenCount),
  total_tokens: optional(TokenCount),
})
