/**
 * Answers of OpenAI-compatible servers, as they really come: the schemas ask for what an answer cannot do without and
 * let servers leave out, or send as `null`, what this product can supply. All other members are kept.
 */
import { Schema } from "effect"
import { ContentPart, FunctionCall } from "../../../../domain/chat.ts"

const open = <const Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.StructWithRest(Schema.Struct(fields), [Schema.Record(Schema.String, Schema.Unknown)])

const optional = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const Index = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

const envelope = {
  id: optional(Schema.String),
  object: Schema.optionalKey(Schema.Unknown),
  created: optional(Schema.Finite),
  model: optional(Schema.String),
  /** Read leniently and by itself: an answer is not worth less because its usage has an odd shape. */
  usage: Schema.optionalKey(Schema.Unknown),
}

const FunctionPiece = open({ name: optional(Schema.String), arguments: optional(Schema.String) })
export type FunctionPiece = typeof FunctionPiece.Type

const ToolCall = open({
  id: optional(Schema.String),
  type: optional(Schema.Literals(["function", ""])),
  function: open({ name: Schema.NonEmptyString, arguments: optional(Schema.String) }),
})

export const Completion = open({
  ...envelope,
  choices: Schema.NonEmptyArray(
    open({
      index: optional(Index),
      message: open({
        content: optional(Schema.Union([Schema.String, Schema.Array(ContentPart)])),
        refusal: optional(Schema.String),
        tool_calls: optional(Schema.Array(ToolCall)),
        function_call: optional(FunctionCall),
      }),
      finish_reason: optional(Schema.String),
    }),
  ),
})
export type Completion = typeof Completion.Type
export type CompletionMessage = Completion["choices"][number]["message"]

const ToolCallPiece = open({
  index: optional(Index),
  id: optional(Schema.String),
  type: optional(Schema.Literals(["function", ""])),
  function: optional(FunctionPiece),
})
export type ToolCallPiece = typeof ToolCallPiece.Type

const ChunkDelta = open({
  role: optional(Schema.String),
  content: optional(Schema.String),
  refusal: optional(Schema.String),
  tool_calls: optional(Schema.Array(ToolCallPiece)),
  function_call: optional(FunctionPiece),
})
export type ChunkDelta = typeof ChunkDelta.Type

export const Chunk = open({
  ...envelope,
  choices: optional(
    Schema.Array(open({ index: optional(Index), delta: optional(ChunkDelta), finish_reason: optional(Schema.String) })),
  ),
})
export type Chunk = typeof Chunk.Type

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

export const Usage = open({
  prompt_tokens: optional(Count),
  completion_tokens: optional(Count),
  total_tokens: optional(Count),
})
