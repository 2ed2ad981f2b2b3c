/**
 * What stands behind `Upstream`: one model provider, called once. A provider translates between Chat Completions and
 * its own wire format and says how a call failed; whether to wait, retry or go elsewhere is the fault policy's business.
 */
import { type Duration, type Effect, Schema, type Stream } from "effect"
import type { ApiName } from "../../domain/upstream/apis.ts"
import { type ChatChunk, type ChatCompletion, type ChatRequest, Usage } from "../../domain/chat/chat.ts"
import { FailureKind } from "../../domain/upstream/failures.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import type { KeptReceipt } from "../../domain/protocol/keptReceipt.ts"
import { ProblemIssue } from "../../domain/problems/problem.ts"
import { ProviderError } from "../../domain/problems/providerError.ts"
import type { RawObject } from "../../domain/json/rawObject.ts"
import type { ProviderId } from "../../domain/upstream/upstream.ts"

/**
 * One failed call. `message` names only the kind, because spans and logs record it; what the provider said may quote
 * the prompt or the key and stays redacted in `detail`.
 */
export class ProviderFailure extends Schema.TaggedError<ProviderFailure>()("ProviderFailure", {
  kind: FailureKind,
  detail: Schema.optionalKey(Schema.Redacted(Schema.String)),
  /** The members of the request that are wrong. */
  errors: Schema.optionalKey(Schema.Redacted(Schema.Array(ProblemIssue))),
  /** How the provider itself put it. */
  said: Schema.optionalKey(Schema.Redacted(ProviderError)),
  /** How long the provider asked to be left alone, in milliseconds. */
  retryAfterMs: Schema.optionalKey(Schema.Finite),
  /** Why, for the log: the status or what the connection ended with, and nothing that the provider said. */
  reason: Schema.optionalKey(Schema.String),
  /** Only the operator can mend it, although others of its kind pass. */
  lasting: Schema.optionalKey(Schema.Boolean),
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

/** A request as its sender wrote it, for a provider that speaks its API. */
export interface NativeCall {
  readonly api: ApiName
  readonly body: RawObject
  readonly headers: Readonly<Record<string, string>>
  /** The model that is asked, whatever `body` says. */
  readonly model: string
}

/** What an answer says of itself. */
export interface Said {
  readonly model: string
  readonly finishReasons: ReadonlyArray<string>
  readonly usage: Usage | null
  /** The id by which its provider knows it, where a request can go on from it. */
  readonly id?: string
}

/** A whole answer, and what it says of itself. */
export interface NativeAnswer {
  /** I-JSON, as the provider wrote it wherever it wrote that. */
  readonly json: string
  readonly said: Said
}

/** What a provider is asked in its own API, so that nothing has to be translated. */
export interface NativeApis {
  /** The APIs that it speaks. */
  readonly names: ReadonlySet<ApiName>
  /** One whole answer. */
  readonly complete: (call: NativeCall) => Effect.Effect<NativeAnswer, ProviderFailure>
  /**
   * A streamed answer: the data of its events. It ends without failure only after the provider said, as its API has it,
   * that the answer is finished.
   */
  readonly stream: (call: NativeCall, watch?: StreamWatch) => Stream.Stream<JsonObject, ProviderFailure>
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
  /** Absent if it can only be asked through this product's translation. */
  readonly native?: NativeApis
}
