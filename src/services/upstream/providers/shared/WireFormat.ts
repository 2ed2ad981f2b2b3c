/** A provider's wire format, of which {@link makeHttpProvider} makes a provider. */
import type { Redacted, Result } from "effect"
import type { ApiName } from "../../../../domain/upstream/apis.ts"
import type { ChatChunk, ChatCompletion, ChatRequest, Usage } from "../../../../domain/chat/chat.ts"
import type { ProviderId } from "../../../../domain/upstream/upstream.ts"
import type { NativeCall, ProviderFailure } from "../../Provider.ts"
import type { ProviderRequest } from "../../HttpExchange.ts"
import type { Limits } from "./Limits.ts"
import type { Unsupported } from "./Unsupported.ts"

export interface ProviderOptions {
  readonly id: ProviderId
  readonly apiKey: Redacted.Redacted
  /** With or without a trailing slash. */
  readonly baseUrl: string
  readonly defaultModel: string
  /** Overrides of {@link LIMITS}. */
  readonly limits?: Partial<Limits> | undefined
}

/** One call, with default values for members that the provider leaves out of its answer. */
export interface Call {
  readonly model: string
  readonly stream: boolean
  /** How many choices were asked for. */
  readonly choices: number
  readonly id: string
  /** Seconds since the epoch. */
  readonly created: number
}

export interface WireFormat {
  /**
   * `gen_ai.provider.name` of its spans: by the conventions, compatible providers are named after the API that they
   * speak.
   */
  readonly name: string
  /** The HTTP request for `request`. What the format cannot express is added to `unsupported`. */
  readonly request: (request: ChatRequest, call: Call, unsupported: Unsupported) => ProviderRequest
  /** The answer in `body`, the JSON value of a successful response that reports no error. */
  readonly completion: (body: unknown, call: Call) => Result.Result<ChatCompletion, ProviderFailure>
  /** A reader for the events of one streamed answer. */
  readonly reader: (call: Call) => ChunkReader
  /** The APIs in which it can be asked without translation, where there are any. */
  readonly native?: {
    readonly names: ReadonlySet<ApiName>
    /** The HTTP request for `call`, whose body is passed on as it is but for what has to be said of model and usage. */
    readonly request: (call: NativeCall, stream: boolean) => ProviderRequest
  }
}

/** Turns the events of one streamed answer into chunks. */
export type ChunkReader = EventReader<ChatChunk>

/** Reads the events of one streamed answer. */
export interface EventReader<Piece> {
  /** The pieces in the next event, a JSON object of the type `event`; none if the event contains nothing relevant. */
  readonly read: (
    json: { readonly [member: string]: unknown },
    event: string,
  ) => Result.Result<ReadonlyArray<Piece>, ProviderFailure>
  /** Notes that the provider said that nothing follows; returns whether the answer is finished. */
  readonly close: () => boolean
  /**
   * - `open`: the answer is not finished.
   * - `settled`: all of it that began is; only a response that ends in good order says that nothing else will begin.
   * - `finished`: it is; something worth waiting a moment for, such as the usage, may follow.
   * - `closed`: it is, and the provider has said that nothing follows.
   */
  readonly state: "open" | "settled" | "finished" | "closed"
  /**
   * How many pieces of thinking came that are in no chunk. What a server sends while its model hangs does not count.
   */
  readonly thoughts: number
  /** The tokens that the answer has cost so far, if the provider said. */
  readonly usage: Usage | undefined
}
