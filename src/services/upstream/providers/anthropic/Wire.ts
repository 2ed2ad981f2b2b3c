/** Answers of the Messages API. Members that are used are checked, all others are ignored. */
import { Effect, Schema } from "effect"
import { optional } from "../../../../domain/chat/chat.ts"

/** Checked after summing, so that an absurd count makes the usage unknown instead of leaving an earlier one. */
const Count = Schema.Number

/** `input_tokens` are those that were neither read from nor written to the prompt cache. */
export const Usage = Schema.Struct({
  input_tokens: optional(Count),
  output_tokens: optional(Count),
  cache_creation_input_tokens: optional(Count),
  cache_read_input_tokens: optional(Count),
  /** `cache_creation_input_tokens` by time to live: {@link CacheCreation}. */
  cache_creation: Schema.optionalKey(Schema.Unknown),
  output_tokens_details: optional(Schema.Struct({ thinking_tokens: optional(Count) })),
  /** Usage of each sampling of the request. */
  iterations: Schema.optionalKey(Schema.Unknown),
})
export type Usage = typeof Usage.Type

export const CacheCreation = Schema.Struct({ ephemeral_1h_input_tokens: Count })

const Text = Schema.Struct({ type: Schema.Literal("text"), text: optional(Schema.String) })
const ToolUse = Schema.Struct({
  type: Schema.Literal("tool_use"),
  id: optional(Schema.String),
  name: Schema.NonEmptyString,
  input: Schema.optionalKey(Schema.Unknown),
})
const Thinking = Schema.Struct({
  type: Schema.Literal("thinking"),
  thinking: optional(Schema.String),
  /** Comes at the end of a streamed block. */
  signature: optional(Schema.String),
})
const RedactedThinking = Schema.Struct({ type: Schema.Literal("redacted_thinking"), data: Schema.String })

export const ThinkingState = Schema.Struct({
  thinking_blocks: Schema.Array(
    Schema.Union([
      Schema.Struct({
        type: Schema.Literal("thinking"),
        thinking: Schema.String,
        signature: Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.succeed(""))),
      }),
      RedactedThinking,
    ]),
  ),
})
export type ThinkingState = typeof ThinkingState.Type

/** Other blocks, such as those of server tools, are ignored, because this product does not request them. */
const Other = Schema.Struct({
  type: Schema.String.check(
    Schema.makeFilter((type: string) => !["text", "tool_use", "thinking", "redacted_thinking"].includes(type), {
      message: "malformed content block",
    }),
  ),
})

export const Block = Schema.Union([Text, ToolUse, Thinking, RedactedThinking, Other])

export const isKnown = Schema.is(Schema.Union([Text, ToolUse, Thinking, RedactedThinking]))

/** Decoded separately, because an odd shape of these members does not make an answer worthless. */
const usage = { usage: Schema.optionalKey(Schema.Unknown) }
const head = { id: Schema.optionalKey(Schema.Unknown), model: Schema.optionalKey(Schema.Unknown), ...usage }
const stop = { stop_reason: optional(Schema.String), stop_details: Schema.optionalKey(Schema.Unknown) }
const Stop = Schema.Struct(stop)
export type Stop = typeof Stop.Type

export const StopDetails = Schema.Struct({ explanation: optional(Schema.String) })

export const Message = Schema.Struct({ ...head, ...stop, content: Schema.Array(Block) })

const index = { index: optional(Schema.Int) }

/** The events of a stream by their types. Other types are ignored, as the API's documentation demands. */
export const MessageStart = Schema.Struct({
  message: Schema.Struct({ ...head, content: optional(Schema.Array(Block)) }),
})
export const BlockStart = Schema.Struct({ ...index, content_block: Block })
export const BlockDelta = Schema.Struct({
  ...index,
  delta: Schema.Struct({
    type: optional(Schema.String),
    text: optional(Schema.String),
    partial_json: optional(Schema.String),
    thinking: optional(Schema.String),
    signature: optional(Schema.String),
  }),
})
export const BlockStop = Schema.Struct(index)
export const MessageDelta = Schema.Struct({ ...usage, delta: optional(Stop) })
