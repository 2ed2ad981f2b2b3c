/** What both components say to and hear from model providers. */
import { type Result, Schema } from "effect"
import type { ApiName } from "./apis.ts"
import { type ChatChunk, type ChatCompletion, type ChatRequest, type FinishReason, Usage } from "../chat/chat.ts"
import type { JsonObject } from "../json/json.ts"
import { KeptReceipt } from "../protocol/keptReceipt.ts"
import { AttemptOutcome, failureCodes, UpstreamCode } from "./failures.ts"
import { ProblemIssue } from "../problems/problem.ts"
import { ProviderError } from "../problems/providerError.ts"
import type { RawObject } from "../json/rawObject.ts"

/**
 * The provider in a slot, or `echo`, which is built in. There is room for nine slots; which of them have a vendor is said
 * where providers are registered, and one that has none counts as a provider that is not configured.
 */
export const ProviderId = Schema.Literals([
  "provider1",
  "provider2",
  "provider3",
  "provider4",
  "provider5",
  "provider6",
  "provider7",
  "provider8",
  "provider9",
  "echo",
])
export type ProviderId = typeof ProviderId.Type

/** A model of a provider. */
export interface UpstreamTarget {
  readonly provider: ProviderId
  readonly model: string
  /** The model's context window in tokens, where it is known. */
  readonly contextTokens?: number | undefined
  /** How long its first output may take, in milliseconds, where that is not as for its provider. */
  readonly firstTokenMs?: number | undefined
}

/** What a request says of whom to call, and how, besides what it asks. */
export interface CallOptions {
  /** Which provider must serve it; without it the configured order is followed. */
  readonly provider?: ProviderId | undefined
  /** The targets to try, in this order, in place of `provider` and the request's model: a router's choice. */
  readonly targets?: ReadonlyArray<UpstreamTarget> | undefined
  /** Whose request it is: turns of a conversation of one caller are kept together, without one they are not. */
  readonly caller?: string | undefined
  /**
   * Whether the caller of a stream can take {@link StreamEvent} `Restarted` (the default). Without it, a stream that
   * breaks after output began fails at once with `upstream-interrupted`.
   */
  readonly restart?: boolean | undefined
  /** Asked after a call that failed whether another may be made. */
  readonly mayCallAgain?: (() => boolean) | undefined
  /** Members that bound the output of the next call of a target, in place of the request's. */
  readonly outputLimit?: ((target: Pick<UpstreamTarget, "provider" | "model">) => Partial<ChatRequest>) | undefined
  /** Told of every call as it ends, also when the caller goes away: for whoever has to account for all of them. */
  readonly onAttempt?: ((attempt: Attempt) => void) | undefined
}

/** A chat of this product's own, for any provider. */
export interface UpstreamRequest extends CallOptions {
  readonly completion: ChatRequest
}

/** A request as its sender wrote it, for providers that speak its API. */
export interface ApiRequest extends CallOptions {
  readonly api: ApiName
  readonly body: RawObject
  /** The headers of the API that come with it, by their names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The model that `body` names. */
  readonly model: string | undefined
  /**
   * The same in this product's own terms, for providers that speak another API; what is wrong with it, where it has none.
   * Only chats can be translated.
   */
  readonly completion?: (() => Result.Result<ChatRequest, ReadonlyArray<ProblemIssue>>) | undefined
}

/** One call to one provider, as accounting sees it: everything it was, nothing it said. Times in ms since the epoch. */
export const Attempt = Schema.Struct({
  provider: ProviderId,
  /** The model that was asked for. */
  model: Schema.String,
  /** The model that answered, where it said so by what can be a name: others are anything, a provider's lie too. */
  servedModel: Schema.NullOr(Schema.String),
  /** Why it was made: the first of its request, another try of the same target, or the first of another target. */
  cause: Schema.Literals(["first", "retry", "failover"]),
  outcome: AttemptOutcome,
  startedAt: Schema.Finite,
  finishedAt: Schema.Finite,
  /** Milliseconds until the first output of a stream; `null` if there was none or the answer came whole. */
  timeToFirstTokenMs: Schema.NullOr(Schema.Finite),
  /** Tokens it cost; `null` where the provider did not say. */
  usage: Schema.NullOr(Usage),
  /** What a sealed proxy signed of it. */
  receipt: Schema.optionalKey(KeptReceipt),
})
export type Attempt = typeof Attempt.Type

/** Who really served a request, and what it cost in tokens. `usage` is `null` when the provider sent none. */
export interface Served {
  readonly provider: ProviderId
  readonly model: string
  readonly finishReasons: ReadonlyArray<FinishReason>
  readonly usage: Usage | null
  /** The id by which its provider knows it, where a request can go on from it. */
  readonly id?: string
  /** What a sealed proxy signed of a streamed answer. */
  readonly receipt?: KeptReceipt
}

export interface Completed {
  readonly completion: ChatCompletion
  readonly served: Served
  /** Every call made for this answer, in order; the last one succeeded. */
  readonly attempts: ReadonlyArray<Attempt>
}

/** A whole answer to an {@link ApiRequest}. */
export interface Answered {
  /** The I-JSON of it: as the provider wrote it, unless that is none, or had to be translated. */
  readonly json: string
  readonly served: Served
  readonly attempts: ReadonlyArray<Attempt>
}

/**
 * What a streamed answer consists of. A stream that succeeded ends with `Finished`; a stream that ends in any other
 * way fails, so truncation cannot be taken for success. After `Restarted` everything before it is void: the upstream
 * failed after output began and another attempt took over.
 */
export type StreamEvent<Piece = ChatChunk> =
  | { readonly _tag: "Delta"; readonly provider: ProviderId; readonly chunk: Piece }
  | { readonly _tag: "Restarted"; readonly reason: string; readonly provider: ProviderId; readonly model: string }
  | { readonly _tag: "Finished"; readonly served: Served; readonly attempts: ReadonlyArray<Attempt> }

/** The same of an {@link ApiRequest}: pieces are the data of its API's events. */
export type ApiEvent = StreamEvent<JsonObject>

/**
 * A provider call that failed for good. `message` is safe for logs and spans; `detail` may quote the prompt, so it is
 * redacted until it is put inside a seal or an answer to the caller.
 */
export class UpstreamError extends Schema.TaggedError<UpstreamError>()("UpstreamError", {
  code: UpstreamCode,
  /** The provider whose failure this is; absent when none could be asked. */
  provider: Schema.optionalKey(ProviderId),
  detail: Schema.optionalKey(Schema.Redacted(Schema.String)),
  /** The members of the request that are wrong. */
  errors: Schema.optionalKey(Schema.Redacted(Schema.Array(ProblemIssue))),
  /** How the provider itself put it. */
  said: Schema.optionalKey(Schema.Redacted(ProviderError)),
  /** Milliseconds after which another try may succeed. */
  retryAfterMs: Schema.optionalKey(Schema.Finite),
  /** Every call made for the request, in order, none of which succeeded; absent when none was made. */
  attempts: Schema.optionalKey(Schema.Array(Attempt)),
}) {
  override get message(): string {
    const { title } = failureCodes[this.code]
    return this.provider === undefined ? title : `${this.provider}: ${title}`
  }
  /** HTTP status for the caller. */
  get status(): number {
    return failureCodes[this.code].status
  }
  /** Whether the same request may succeed later without being changed. */
  get retryable(): boolean {
    return this.status === 429 || this.status >= 500
  }
}
