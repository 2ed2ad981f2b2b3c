/** One model provider, called once: translates to and from its wire format, and classifies failures. */
import { type Duration, type Effect, type Redacted, Schema, type Stream } from "effect"
import type { ApiName } from "../../domain/upstream/apis.ts"
import { type ChatChunk, type ChatCompletion, type ChatRequest, Usage } from "../../domain/chat/chat.ts"
import { FailureKind } from "../../domain/upstream/failures.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import type { KeptReceipt } from "../../domain/protocol/keptReceipt.ts"
import { ProblemIssue } from "../../domain/problems/problem.ts"
import { ProviderError } from "../../domain/problems/providerError.ts"
import type { RawObject } from "../../domain/json/rawObject.ts"
import type { OfferedModel } from "../../domain/upstream/providersFile.ts"
import type { KeySource, OutputLimit, ProviderId } from "../../domain/upstream/upstream.ts"

/**
 * One failed call. `message` names only the kind, because spans and logs record it. The provider's words may quote the
 * prompt or the key, so they stay redacted in `detail`.
 */
export class ProviderFailure extends Schema.TaggedError<ProviderFailure>()("ProviderFailure", {
  kind: FailureKind,
  detail: Schema.optionalKey(Schema.Redacted(Schema.String)),
  /** The members of the request that are wrong. */
  errors: Schema.optionalKey(Schema.Redacted(Schema.Array(ProblemIssue))),
  said: Schema.optionalKey(Schema.Redacted(ProviderError)),
  /** The pause that the provider asked for, in milliseconds. */
  retryAfterMs: Schema.optionalKey(Schema.Finite),
  /** The reason for the log: the status or the connection's error, never the provider's words. */
  reason: Schema.optionalKey(Schema.String),
  /** Whether only the operator can fix it, although other failures of this kind pass. */
  lasting: Schema.optionalKey(Schema.Boolean),
  /** Tokens that the failed call cost, if the provider reported them. */
  usage: Schema.optionalKey(Usage),
}) {
  override get message(): string {
    return this.kind
  }
}

/** Receives what a stream reports besides its chunks: activity, thinking, cost, receipt. */
export interface StreamWatch {
  /** Anything arrived, such as a chunk, a comment or a ping. The connection works, even if the model does not. */
  readonly alive: () => void
  /** More thoughts arrived: the model is working, although the chunks do not show it. */
  readonly thinking: () => void
  /** The cost of the answer so far. */
  readonly spent: (usage: Usage) => void
  /** The answer was signed, and the signatures were verified. */
  readonly receipt: (receipt: KeptReceipt) => void
}

/** A request as its sender wrote it, for a provider that speaks its API. */
export interface NativeCall {
  readonly api: ApiName
  readonly body: RawObject
  readonly headers: Readonly<Record<string, string>>
  /** The model to ask, which replaces the one in `body`. */
  readonly model: string
  readonly limit?: OutputLimit | undefined
}

/** Metadata in an answer. */
export interface Said {
  readonly model: string
  readonly finishReasons: ReadonlyArray<string>
  readonly usage: Usage | null
  /** The provider's id of the answer, if a request can continue from it. */
  readonly id?: string
}

/** A whole answer with its metadata. */
export interface NativeAnswer {
  /** I-JSON: the provider's own text if that is I-JSON. */
  readonly json: string
  readonly said: Said
}

/** The APIs that a provider speaks itself, so that their requests need no translation. */
export interface NativeApis {
  readonly names: ReadonlySet<ApiName>
  readonly complete: (call: NativeCall) => Effect.Effect<NativeAnswer, ProviderFailure>
  /**
   * Asks for a streamed answer: the data of its events. It ends without failure only after the provider said, in the
   * way of its API, that the answer is finished.
   */
  readonly stream: (call: NativeCall, watch?: StreamWatch) => Stream.Stream<JsonObject, ProviderFailure>
}

export interface Provider {
  readonly id: ProviderId
  /** The name of its API in spans (`gen_ai.provider.name`). */
  readonly apiName: string
  /** The model for requests that name none. */
  readonly defaultModel: string
  /** The models that it is known to offer, its default first; absent if only the default is known. */
  readonly offers?: ReadonlyArray<OfferedModel> | undefined
  /** Where it runs, as its operator says. */
  readonly region?: string | undefined
  /** The server that is called, for spans. Absent for the built-in echo. */
  readonly server?: { readonly address: string; readonly port: number }
  /** The limit for the first output of a stream, if it differs from the common one. */
  readonly firstToken?: Duration.Duration | undefined
  readonly complete: (request: ChatRequest) => Effect.Effect<ChatCompletion, ProviderFailure>
  /**
   * Asks for a streamed answer. It ends without failure only after a finish reason for every choice, so truncation is
   * always a failure. If the provider sends usage, it is in a chunk.
   */
  readonly stream: (request: ChatRequest, watch?: StreamWatch) => Stream.Stream<ChatChunk, ProviderFailure>
  /** Absent if every request needs translation. */
  readonly native?: NativeApis
  /** Absent if only the operator's key is used. */
  readonly ownKeys?: {
    /** Whether the operator has no key, so that tenants must bring one. */
    readonly required: boolean
    /** The provider with the key of a tenant. */
    readonly withKey: (key: Redacted.Redacted) => Pick<Provider, "complete" | "stream" | "native">
  }
}

export const keySourceOf = ({ ownKeys }: Provider): KeySource =>
  ownKeys === undefined ? "operator" : ownKeys.required ? "tenant" : "any"
