/** The conversation in a Messages API request (version 2023-06-01). */

export interface Turn {
  readonly role: "user" | "assistant"
  readonly content: ReadonlyArray<Block>
}

export type Block = TextBlock | ImageBlock | ToolUseBlock | ToolResultBlock | ThinkingBlock

/** Where the prompt may be cached. Callers of OpenAI-compatible services add this member to their messages and parts. */
export interface CacheControl {
  readonly type: "ephemeral"
  readonly ttl?: "5m" | "1h"
}

export interface TextBlock {
  readonly type: "text"
  readonly text: string
  readonly cache_control?: CacheControl
}

export interface ImageBlock {
  readonly type: "image"
  readonly source:
    | { readonly type: "base64"; readonly media_type: string; readonly data: string }
    | { readonly type: "url"; readonly url: string }
  readonly cache_control?: CacheControl
}

interface ToolUseBlock {
  readonly type: "tool_use"
  readonly id: string
  readonly name: string
  readonly input: unknown
  readonly cache_control?: CacheControl
}

interface ToolResultBlock {
  readonly type: "tool_result"
  readonly tool_use_id: string
  readonly content: ReadonlyArray<TextBlock | ImageBlock>
  readonly cache_control?: CacheControl
}

export type ThinkingBlock =
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "redacted_thinking"; readonly data: string }
