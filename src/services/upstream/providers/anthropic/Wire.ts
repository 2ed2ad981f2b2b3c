/** Answers of the Messages API: what is used of them is checked, all else is let pass. */
import { Effect, Schema } from "effect"

const optional = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** `input_tokens` are those that were neither read from nor written to the prompt cache. */
export const Usage = Schema.Struct({
  input_tokens: optional(Count),
  output_tokens: optional(Count),
  cache_creation_input_tokens: optional(Count),
  cache_read_input_tokens: optional(Count),
  output_tokens_details: optional(Schema.Struct({ thinking_tokens: optional(Count) })),
})
export type Usage = typeof Usage.Type

const Thinking = Schema.Struct({
  type: Schema.Literal("thinking"),
  thinking: Schema.String,
  /** Comes at the end of a streamed block. */
  signature: Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.succeed(""))),
})
const RedactedThinking = Schema.Struct({ type: Schema.Literal("redacted_thinking"), data: Schema.String })

/** What travels in `extra_content.anthropic`. */
export const ThinkingState = Schema.Struct({
  thinking_blocks: Schema.Array(Schema.Union([Thinking, RedactedThinking])),
})
export type ThinkingState = typeof ThinkingState.Type

const Text = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String })
const ToolUse = Schema.Struct({
  type: Schema.Literal("tool_use"),
  id: Schema.NonEmptyString,
  name: Schema.NonEmptyString,
  input: Schema.Unknown,
})

/** Blocks of server tools and the like, which requests of this product do not ask for, are passed over. */
const Other = Schema.Struct({
  type: Schema.String.check(
    Schema.makeFilter((type: string) => !["text", "tool_use", "thinking", "redacted_thinking"].includes(type), {
      message: "malformed content block",
    }),
  ),
})

export const Block = Schema.Union([Text, ToolUse, Thinking, RedactedThinking, Other])
export type Block = typeof Block.Type

export const isKnown = Schema.is(Schema.Union([Text, ToolUse, Thinking, RedactedThinking]))

const StopDetails = Schema.Struct({ explanation: optional(Schema.String) })

export const Message = Schema.Struct({
  id: Schema.String,
  model: Schema.String,
  content: Schema.Array(Block),
  stop_reason: optional(Schema.String),
  stop_details: optional(StopDetails),
  usage: optional(Usage),
})

const Index = Schema.Struct({ index: Schema.Int })

/** Events of a stream by type; types that are not here are passed over, as the API's documentation asks. */
export const MessageStart = Schema.Struct({
  message: Schema.Struct({ id: Schema.String, model: Schema.String, usage: optional(Usage) }),
})
export const BlockStart = Schema.Struct({ index: Schema.Int, content_block: Block })
export const BlockDelta = Schema.Struct({
  index: Schema.Int,
  delta: Schema.Struct({
    type: Schema.String,
    text: Schema.optionalKey(Schema.String),
    partial_json: Schema.optionalKey(Schema.String),
    thinking: Schema.optionalKey(Schema.String),
    signature: Schema.optionalKey(Schema.String),
  }),
})
export const BlockStop = Index
export const MessageDelta = Schema.Struct({
  delta: Schema.Struct({ stop_reason: optional(Schema.String), stop_details: optional(StopDetails) }),
  usage: optional(Usage),
})

export const Event = Schema.Struct({ type: Schema.String })
