/** The fake upstream's replies: answers, described once for all wire formats, and faults. */
import type { Asked } from "./Asked.ts"

interface ToolCallReply {
  /** Default: made up, unique. */
  readonly id?: string
  readonly name: string
  /** The arguments, or their JSON text in the pieces in which a stream sends it. */
  readonly arguments: Readonly<Record<string, unknown>> | ReadonlyArray<string>
}

/** Token counts. `input` includes `cached` and `cacheWritten`, `output` includes `reasoning`. */
export interface Spent {
  readonly input: number
  readonly cached?: number
  readonly cacheWritten?: number
  readonly output: number
  readonly reasoning?: number
}

export type Finish = "stop" | "length" | "tool_calls" | "content_filter"

export interface Answer {
  /** A string is streamed word by word, an array in exactly these chunks. */
  readonly text?: string | ReadonlyArray<string>
  /** `reasoning_content` of Chat Completions; other formats leave it out. Beside tool calls it is demanded back. */
  readonly thoughts?: string
  readonly toolCalls?: ReadonlyArray<ToolCallReply>
  /** Default: `tool_calls` when there are any, else `stop`. */
  readonly finish?: Finish
  /** Default: words in and words out. `null`: none is sent. */
  readonly usage?: Spent | null
  /** The model that claims to have served the request. Default: the requested one. */
  readonly model?: string
  readonly headers?: Readonly<Record<string, string>>
  /** How it travels. Default: at once and whole. */
  readonly delivery?: Delivery
}

/** How an answer travels. All times are in milliseconds. */
export interface Delivery {
  /** Before the status line and headers. */
  readonly headersAfter?: number
  /**
   * Before the first chunk with content, or before the body of an answer that is not streamed. What opens a stream
   * (headers, OpenAI's role, Anthropic's `message_start`) goes out before.
   */
  readonly firstChunkAfter?: number
  /** Between one chunk with content and the next; or a promise that the second chunk waits for. */
  readonly gap?: number | Promise<unknown>
  /** The fault in the middle. */
  readonly breaks?: Break
  /** The stream ends without OpenAI's `[DONE]` or Anthropic's `message_stop`; Gemini has none. */
  readonly sentinel?: "missing"
  readonly contentType?: string
}

export interface Break {
  /** Number of chunks with content that are sent before. An answer that is not streamed breaks in its middle. */
  readonly after: number
  /**
   * - `silence`: nothing more is sent, the connection stays open
   * - `reset`: the connection is reset (TCP RST)
   * - `cut`: the connection is closed (TCP FIN) within the message
   * - `end`: the message ends properly, but the answer has no finish
   * - `garbage`: a chunk that is not JSON, then the rest as if nothing had happened
   * - `error`: the vendor's error event within the stream, then a proper end
   * - `flood`: chunk upon chunk until the caller hangs up or 64 MiB are out, then a cut
   * - `oversized`: one chunk of 16 MiB, then the rest as if nothing had happened
   */
  readonly how: "silence" | "reset" | "cut" | "end" | "garbage" | "error" | "flood" | "oversized"
}

/** Errors that a vendor may report. Each wire format has its own status and JSON for them. */
export type Objection =
  | "invalid-request"
  | "unauthorized"
  | "rate-limited"
  | "server-error"
  | "overloaded"
  | "context-too-long"
  | "content-filtered"

export type Fault =
  | {
      readonly fault: "vendor"
      readonly objection: Objection
      readonly options: VendorOptions
    }
  | {
      readonly fault: "status"
      readonly status: number
      readonly headers: Readonly<Record<string, string>>
      readonly body: string
    }
  | { readonly fault: "reset" | "silence" }
  | { readonly fault: "raw"; readonly bytes: string }

/** A reply, or a function that makes one from its request. */
export type Reply = Answer | Fault | ((asked: Asked) => Reply | Promise<Reply>)

export interface VendorOptions {
  /** In seconds. Sent as the header `Retry-After`; to a Gemini caller as `RetryInfo` in the body, as Gemini does it. */
  readonly retryAfter?: number
  /** Replaces the vendor's usual message. */
  readonly message?: string
}

const vendor =
  (objection: Objection) =>
  (options: VendorOptions = {}): Fault => ({ fault: "vendor", objection, options })

/** Every fault that does not concern the delivery of an answer. Uses the vendor's own status and error JSON. */
export const fault = {
  /** 429. */
  rateLimited: vendor("rate-limited"),
  /** 503; Anthropic 529. */
  overloaded: vendor("overloaded"),
  /** 500. */
  serverError: vendor("server-error"),
  /** A wrong key: 401; Gemini 400 with reason `API_KEY_INVALID`. */
  unauthorized: vendor("unauthorized"),
  /** 400. */
  invalidRequest: vendor("invalid-request"),
  /** 400. */
  contextTooLong: vendor("context-too-long"),
  /** The prompt itself is filtered: 400; Gemini 200 with a `blockReason` and no candidate. */
  contentFiltered: vendor("content-filtered"),
  /** Any status with any body; JSON unless a content type says otherwise. */
  status: (
    status: number,
    options: { readonly headers?: Readonly<Record<string, string>>; readonly body?: unknown } = {},
  ): Fault => ({
    fault: "status",
    status,
    headers: { "content-type": "application/json", ...options.headers },
    body: typeof options.body === "string" ? options.body : JSON.stringify(options.body ?? {}),
  }),
  /** The connection is reset before any header. */
  reset: { fault: "reset" },
  /** The request is taken and never answered. */
  silence: { fault: "silence" },
  /** These bytes in place of an HTTP message; then the connection closes. */
  raw: (bytes: string): Fault => ({ fault: "raw", bytes }),
} satisfies Record<string, Fault | ((...args: never) => Fault)>

export const isFault = (reply: Reply): reply is Fault => "fault" in reply
