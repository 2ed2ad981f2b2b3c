/** A provider's wire format. {@link makeHttpProvider} makes a provider of it. */
import type { Redacted, Result } from "effect"
import type { ApiName } from "../../../../domain/upstream/apis.ts"
import type { ChatChunk, ChatCompletion, ChatRequest, Usage } from "../../../../domain/chat/chat.ts"
import type { JsonObject } from "../../../../domain/json/json.ts"
import type { ProviderId } from "../../../../domain/upstream/upstream.ts"
import type { NativeCall, ProviderFailure } from "../../Provider.ts"
import type { ProviderRequest } from "../../HttpExchange.ts"
import type { Limits } from "./Limits.ts"
import type { Unsupported } from "./Unsupported.ts"

export interface ProviderOptions {
  readonly id: ProviderId
  readonly apiKey: Redacted.Redacted
  /** Whether tenants must bring their own keys. `apiKey` is then never used. */
  readonly tenantKeys?: boolean | undefined
  /** With or without a trailing slash. */
  readonly baseUrl: string
  readonly defaultModel: string
  /** Sent with every call, unless the format sets a header of the same name. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Overrides of {@link LIMITS}. */
  readonly limits?: Partial<Limits> | undefined
}

/** One call, with defaults for members that the provider leaves out of its answer. */
export interface AnswerDefaults {
  readonly model: string
  readonly stream: boolean
  /** The number of choices asked for. */
  readonly choices: number
  /** The caller's `stream_options`. */
  readonly options: JsonObject
  readonly id: string
  /** Seconds since the epoch. */
  readonly created: number
}

export interface WireFormat {
  /** Its `gen_ai.provider.name`: compatible providers are named after the API that they speak. */
  readonly name: string
  /** Makes the HTTP request for `request`. Adds what the format cannot express to `unsupported`. */
  readonly request: (request: ChatRequest, call: AnswerDefaults, unsupported: Unsupported) => ProviderRequest
  /** Reads the answer in `body`, the JSON value of a successful response that reports no error. */
  readonly completion: (body: unknown, call: AnswerDefaults) => Result.Result<ChatCompletion, ProviderFailure>
  readonly reader: (call: AnswerDefaults) => ChunkReader
  /** Learns from the refusal of a stream. Returns whether to ask again, because the request changes. */
  readonly learn?: (refusal: ProviderFailure, call: AnswerDefaults) => boolean
  /** The APIs that it speaks itself, if any. */
  readonly native?: {
    readonly names: ReadonlySet<ApiName>
    /** Makes the HTTP request for `call`. Its body is passed on unchanged except for model and usage. */
    readonly request: (call: NativeCall, stream: boolean) => ProviderRequest
  }
}

export type ChunkReader = EventReader<ChatChunk>

export interface EventReader<Piece> {
  /** Returns the pieces in the next event, a JSON object of the type `event`; none if it contains nothing relevant. */
  readonly read: (
    json: { readonly [member: string]: unknown },
    event: string,
  ) => Result.Result<ReadonlyArray<Piece>, ProviderFailure>
  /** Notes that the provider said that nothing follows. Returns whether the answer is finished. */
  readonly close: () => boolean
  /**
   * - `open`: the answer is not finished.
   * - `settled`: all of it that began is; only a response that ends in good order says that nothing else will begin.
   * - `finished`: it is; something worth waiting a moment for, such as the usage, may follow.
   * - `closed`: it is, and the provider has said that nothing follows.
   */
  readonly state: "open" | "settled" | "finished" | "closed"
  /**
   * The number of thoughts that are in no chunk, and of their beginnings. Events that a server sends while its model hangs do
   * not count.
   */
  readonly thoughts: number
  readonly usage: Usage | undefined
}
