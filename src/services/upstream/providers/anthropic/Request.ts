/** The parts of a Messages API request that this product writes (version 2023-06-01). */

export interface MessagesRequest {
  readonly model: string
  readonly max_tokens: number
  readonly messages: ReadonlyArray<Turn>
  readonly system?: ReadonlyArray<TextBlock>
  readonly stream?: true
  readonly temperature?: number
  readonly top_p?: number
  readonly top_k?: number
  readonly stop_sequences?: ReadonlyArray<string>
  readonly tools?: ReadonlyArray<ToolDefinition>
  readonly tool_choice?: ToolSelection
  readonly output_config?: OutputConfig
  readonly thinking?: { readonly type: "disabled" }
  readonly metadata?: { readonly user_id: string }
  readonly cache_control?: CacheControl
}

export interface Turn {
  readonly role: "user" | "assistant"
  readonly content: ReadonlyArray<Block>
}

export type Block = TextBlock | ImageBlock | ToolUseBlock | ToolResultBlock | ThinkingBlock

/** Where the prompt may be cached. Callers of OpenAI-compatible services add this member to their own parts. */
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
}

interface ToolResultBlock {
  readonly type: "tool_result"
  readonly tool_use_id: string
  readonly content: ReadonlyArray<TextBlock | ImageBlock>
}

export type ThinkingBlock =
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "redacted_thinking"; readonly data: string }

export interface ToolDefinition {
  readonly name: string
  readonly description?: string
  readonly input_schema: { readonly type: "object"; readonly [member: string]: unknown }
  readonly strict?: true
  readonly cache_control?: CacheControl
}

export type ToolSelection =
  | { readonly type: "none" }
  | { readonly type: "auto" | "any"; readonly disable_parallel_tool_use?: true }
  | { readonly type: "tool"; readonly name: string; readonly disable_parallel_tool_use?: true }

export interface OutputConfig {
  readonly format?: { readonly type: "json_schema"; readonly schema: Readonly<Record<string, unknown>> }
  readonly effort?: "low" | "medium" | "high" | "xhigh" | "max"
}
