/**
 * What stands behind `Upstream`: one model provider, called once. A provider translates between Chat Completions and
 * its own wire format and says how a call failed; whether to wait, retry or go elsewhere is the fault policy's business.
 */
import { type Duration, type Effect, Schema, type Stream } from "effect"
import { type ChatChunk, type ChatCompletion, type ChatRequest, Usage } from "../../domain/chat.ts"
import { FailureKind } from "../../domain/failures.ts"
import type { KeptReceipt } from "../../domain/keptReceipt.ts"
import type { ProviderId } from "../../domain/upstream.ts"

/**
 * One failed call. `message` names only the kind, because spans and logs record it; what the provider said may quote
 * the prompt or the key and stays redacted in `detail`.
 */
export class ProviderFailure extends Schema.TaggedError<ProviderFailure>()("ProviderFailure", {
  kind: FailureKind,
  detail: Schema.optionalKey(Schema.Redacted(Schema.String)),
  /** How long the provider asked to be left alone, in milliseconds. */
  retryAfterMs: Schema.optionalKey(Schema.Finite),
  /** Tokens that the failed call cost, where the provider said so. */
  usage: Schema.optionalKey(Usage),
}) {
  override get message(): string {
    return this.kind
  }
}

/** Receives what a stream reveals besides its chunks. */
export interface StreamWatch {
  /** Anything arrived, such as a chunk, a comment or a ping: the connection works, whatever the model does. */
  readonly alive: () => void
  /** More thoughts arrived: the model is working, although readers of the chunks see none of it. */
  readonly thinking: () => void
  /** What the answer has cost so far. */
  readonly spent: (usage: Usage) => void
  /** The answer was signed, and the signatures were verified. */
  readonly receipt: (receipt: KeptReceipt) => void
}

export interface Provider {
  readonly id: ProviderId
  /** What spans call its API, by the conventions for `gen_ai.provider.name`. */
  readonly apiName: string
  /** The model used when a request names none. */
  readonly defaultModel: string
  /** The server that is called, for spans; absent for the built-in echo. */
  readonly server?: { readonly address: string; readonly port: number }
  /** How long the first output of a stream may take, if that differs from other providers. */
  readonly firstToken?: Duration.Duration | undefined
  /** One whole answer. */
  readonly complete: (request: ChatRequest) => Effect.Effect<ChatCompletion, ProviderFailure>
  /**
   * A streamed answer. It ends without failure only after the provider said that the answer is finished (a finish
   * reason for every choice), so truncation is always a failure. Usage, if the provider sends any, is in a chunk.
   */
  readonly stream: (request: ChatRequest, watch?: StreamWatch) => Stream.Stream<ChatChunk, ProviderFailure>
}
