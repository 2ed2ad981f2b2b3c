/**
 * Chat Completions as plain types, for the client's package, which does not depend on Effect. `chat.ts` has the schemas; a
 * test compares both. Unknown members are kept, hence {@link Open}.
 */

interface Open {
  readonly [member: string]: unknown
}

export interface TextPart extends Open {
  readonly type: "text"
  readonly text: string
}

/** `image_url.url` is an `https:` URL or a `data:` URL with base64 content. */
export interface ImagePart extends Open {
  readonly type: "image_url"
  readonly image_url: Open & { readonly url: string; readonly detail?: string | null }
}

export interface RefusalPart extends Open {
  readonly type: "refusal"
  readonly refusal: string
}

/** A content part of another type, such as audio or a file. */
export interface OtherPart extends Open {
  readonly type: string
}

export type ContentPart = TextPart | ImagePart | RefusalPart | OtherPart
export type Content = string | ReadonlyArray<ContentPart>

/** `arguments` is JSON text, as the model wrote it. */
export interface FunctionCall extends Open {
  readonly name: string
  readonly arguments: string
}

export interface ToolCall extends Open {
  readonly id: string
  readonly type: "function"
  readonly function: FunctionCall
}

export interface SystemMessage extends Open {
  readonly role: "system" | "developer"
  readonly content: Content
}

export interface UserMessage extends Open {
  readonly role: "user"
  readonly content: Content
}

export interface AssistantMessage extends Open {
  readonly role: "assistant"
  readonly content?: Content | null
  readonly refusal?: string | null
  readonly tool_calls?: ReadonlyArray<ToolCall> | null
}

export interface ToolMessage extends Open {
  readonly role: "tool"
  readonly tool_call_id: string
  readonly content: Content
}

export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage

type Record = Readonly<globalThis.Record<string, unknown>>

/** `parameters` is a JSON Schema. */
export interface FunctionDefinition extends Open {
  readonly name: string
  readonly description?: string | null
  readonly parameters?: Record | null
  readonly strict?: boolean | null
}

export interface Tool extends Open {
  readonly type: "function"
  readonly function: FunctionDefinition
}

export type ToolChoice =
  | "none"
  | "auto"
  | "required"
  | (Open & { readonly type: "function"; readonly function: Open & { readonly name: string } })

export type ResponseFormat =
  | (Open & { readonly type: "text" | "json_object" })
  | (Open & {
      readonly type: "json_schema"
      readonly json_schema: Open & {
        readonly name: string
        readonly description?: string | null
        readonly schema?: Record | null
        readonly strict?: boolean | null
      }
    })

interface ChatOptions extends Open {
  readonly model?: string
  readonly stream?: boolean | null
  readonly stream_options?: Record | null
  readonly tools?: ReadonlyArray<Tool> | null
  readonly tool_choice?: ToolChoice | null
  readonly parallel_tool_calls?: boolean | null
  readonly response_format?: ResponseFormat | null
  readonly stop?: string | ReadonlyArray<string> | null
  readonly max_tokens?: number | null
  readonly max_completion_tokens?: number | null
  readonly temperature?: number | null
  readonly top_p?: number | null
  readonly seed?: number | null
  readonly n?: number | null
}

/** A Chat Completions request in normal form, with `messages`. */
export interface ChatRequest extends ChatOptions {
  readonly messages: ReadonlyArray<Message>
  readonly prompt?: never
  readonly system?: never
}

/** The shorthand: one `prompt`, optionally under a `system` message, in place of `messages`. */
export interface PromptRequest extends ChatOptions {
  readonly prompt: string
  readonly system?: string
  readonly messages?: never
}

/** A request with either messages or the prompt shorthand. */
export type ChatInput = ChatRequest | PromptRequest

/**
 * Token counts. The details count parts of `prompt_tokens` (read from and written to the prompt cache) and of
 * `completion_tokens` (reasoning). `cache_write_1h_tokens` is the part of `cache_write_tokens` that is kept for an hour.
 */
export interface Usage extends Open {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly prompt_tokens_details?:
    | (Open & {
        readonly cached_tokens?: number | null
        readonly cache_write_tokens?: number | null
        readonly cache_write_1h_tokens?: number | null
      })
    | null
  readonly completion_tokens_details?: (Open & { readonly reasoning_tokens?: number | null }) | null
}

/** OpenAI's finish reasons are `stop`, `length`, `tool_calls` and `content_filter`. */
export type FinishReason = string

/** A finished answer (`chat.completion`). `created` is in seconds since the epoch. */
export interface ChatCompletion extends Open {
  readonly id: string
  readonly object: "chat.completion"
  readonly created: number
  readonly model: string
  readonly choices: ReadonlyArray<
    Open & { readonly index: number; readonly message: AssistantMessage; readonly finish_reason: FinishReason }
  >
  readonly usage?: Usage | null
}

/**
 * One piece of a tool call. Pieces with the same `index` belong to one call, and their `arguments` are concatenated.
 * Calls of types other than `function` have other members.
 */
export interface ToolCallDelta extends Open {
  readonly index: number
  readonly id?: string
  readonly type?: string
  readonly function?: Open & { readonly name?: string; readonly arguments?: string }
}

export interface Delta extends Open {
  readonly role?: string
  readonly content?: string | null
  readonly refusal?: string | null
  readonly tool_calls?: ReadonlyArray<ToolCallDelta>
}

/** One piece of a streamed answer (`chat.completion.chunk`). */
export interface ChatChunk extends Open {
  readonly id: string
  readonly object: "chat.completion.chunk"
  readonly created: number
  readonly model: string
  readonly choices: ReadonlyArray<
    Open & { readonly index: number; readonly delta: Delta; readonly finish_reason?: FinishReason | null }
  >
  readonly usage?: Usage | null
}
