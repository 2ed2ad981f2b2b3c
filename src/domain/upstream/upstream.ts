/** Requests to model providers, and their outcomes. */
import { type Effect, type Redacted, type Result, Schema } from "effect"
import type { ApiName, LimitMember } from "./apis.ts"
import {
  type ChatChunk,
  type ChatCompletion,
  type ChatRequest,
  type FinishReason,
  type Message,
  Usage,
} from "../chat/chat.ts"
import type { JsonObject } from "../json/json.ts"
import { KeptReceipt } from "../protocol/keptReceipt.ts"
import { AttemptOutcome, failureCodes, UpstreamCode } from "./failures.ts"
import { ProblemIssue } from "../problems/problem.ts"
import { ProviderError } from "../problems/providerError.ts"
import type { RawObject } from "../json/rawObject.ts"

/**
 * The name of a provider: of a slot (`provider1` to `provider9`), of one in the operator's file, or `echo`, the built-in
 * one. A name without a provider counts as not configured.
 */
export const ProviderId = Schema.String.check(
  // The pattern contains the length too, but descriptions of the API need it separately.
  Schema.isMaxLength(32),
  Schema.isPattern(/^[a-z][a-z0-9-]{0,31}$/, {
    expected: "a provider's name: 1 to 32 letters a-z, digits and dashes, the first a letter",
  }),
)
export type ProviderId = typeof ProviderId.Type

export interface UpstreamTarget {
  readonly provider: ProviderId
  readonly model: string
  /** Context window in tokens, if known. */
  readonly contextTokens?: number | undefined
  /** Time limit of the first output, in milliseconds, if it differs from its provider's. */
  readonly firstTokenMs?: number | undefined
}

/** Whose key a provider is called with: the operator's, the tenant's if it has one (`any`), or the tenant's only. */
export type KeySource = "operator" | "any" | "tenant"

/** A tenant's own keys by provider; `undefined` for one that cannot be decrypted. */
export interface TenantKeys {
  readonly tenant: string
  readonly keys: ReadonlyMap<ProviderId, Redacted.Redacted | undefined>
}

/** Whether there is a key for calls of a provider. The operator's does not replace one that cannot be decrypted. */
export const hasKey = (source: KeySource, provider: ProviderId, own: TenantKeys | undefined): boolean =>
  source === "operator" || (own?.keys.has(provider) === true ? own.keys.get(provider) !== undefined : source === "any")

/** Members that limit the output of a call; they replace the request's. */
export type OutputLimit = Partial<Readonly<Record<LimitMember, number>>>

export interface AskOptions {
  /** The provider that must serve the request; by default, the configured order applies. */
  readonly provider?: ProviderId | undefined
  /** The router's choice: targets to try in this order, in place of `provider` and the request's model. */
  readonly targets?: ReadonlyArray<UpstreamTarget> | undefined
  /** The keys of the caller's tenant, which replace the operator's. */
  readonly own?: TenantKeys | undefined
  /** The caller. Turns of one caller's conversation go to the same target; without a caller they do not. */
  readonly caller?: string | undefined
  /** Whether a stream that breaks after output emits `Restarted` (the default) or fails with `upstream-interrupted`. */
  readonly restart?: boolean | undefined
  /** Runs before a call that follows a failed one. Returns whether it may be made. */
  readonly mayCallAgain?: Effect.Effect<boolean> | undefined
  /** The limit of the next call of a target. */
  readonly outputLimit?: ((target: Pick<UpstreamTarget, "provider" | "model">) => OutputLimit) | undefined
  /** Called for accounting as each call ends, even if the caller went away. */
  readonly onAttempt?: ((attempt: Attempt) => void) | undefined
}

/** A Chat Completions request, for any provider. */
export interface UpstreamRequest extends AskOptions {
  readonly completion: ChatRequest
  /** The targets that wrote messages of `completion`. No other target gets a message's state. */
  readonly authors?: ReadonlyMap<Message, Pick<UpstreamTarget, "provider" | "model">> | undefined
}

/** A request as its sender wrote it, for providers that speak its API. */
export interface ApiRequest extends AskOptions {
  readonly api: ApiName
  readonly body: RawObject
  /** Headers of the API, by names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The model that `body` names. */
  readonly model: string | undefined
  /** Translates the request for providers of another API if it is a chat, or returns its mistakes. */
  readonly completion?: (() => Result.Result<ChatRequest, ReadonlyArray<ProblemIssue>>) | undefined
}

/** One call to one provider, for accounting, without its content. Times are milliseconds since the epoch. */
export const Attempt = Schema.Struct({
  provider: ProviderId,
  model: Schema.String,
  /** The model that answered, if the provider reported a plausible name; it may be untrue. */
  servedModel: Schema.NullOr(Schema.String),
  /** First call of its request, another try of the same target, or the first call of another target. */
  cause: Schema.Literals(["first", "retry", "failover"]),
  outcome: AttemptOutcome,
  startedAt: Schema.Finite,
  finishedAt: Schema.Finite,
  /** Milliseconds until the first output of a stream; `null` if there was none or the answer came whole. */
  timeToFirstTokenMs: Schema.NullOr(Schema.Finite),
  /** `null` if the provider reported none. */
  usage: Schema.NullOr(Usage),
  ownKey: Schema.optionalKey(Schema.Boolean),
  receipt: Schema.optionalKey(KeptReceipt),
})
export type Attempt = typeof Attempt.Type

/** The target that served a request. `usage` is `null` if the provider sent none. */
export interface Served {
  readonly provider: ProviderId
  readonly model: string
  readonly finishReasons: ReadonlyArray<FinishReason>
  readonly usage: Usage | null
  /** The provider's id of the answer, if a request can continue from it. */
  readonly id?: string
  /** The statements of a sealed proxy for a streamed answer. */
  readonly receipt?: KeptReceipt
}

/** How an answer came about. */
export interface Streamed {
  readonly served: Served
  /** All calls for this answer, in order; the last one succeeded. */
  readonly attempts: ReadonlyArray<Attempt>
}

export interface Completed extends Streamed {
  readonly completion: ChatCompletion
}

/** A whole answer to an {@link ApiRequest}. */
export interface Answered extends Streamed {
  /** I-JSON as the provider wrote it, unless it had to be corrected or translated. */
  readonly json: string
}

/** An event of a stream. `Restarted` voids all before it: another attempt took over after output. */
export type StreamEvent<Piece = ChatChunk> =
  | { readonly _tag: "Delta"; readonly provider: ProviderId; readonly chunk: Piece }
  | { readonly _tag: "Restarted"; readonly reason: string; readonly provider: ProviderId; readonly model: string }

/** An event for an {@link ApiRequest}, whose pieces are the data of its API's events. */
export type ApiEvent = StreamEvent<JsonObject>

/** Receives the events of a streamed answer as they come, and may make the provider wait. */
export type Emit<Piece> = (events: ReadonlyArray<StreamEvent<Piece>>) => Effect.Effect<unknown>

/**
 * A request that failed for good. `message` is safe for logs and spans. `detail` may quote the prompt, so it is redacted
 * until it is sealed or sent to the caller.
 */
export class UpstreamError extends Schema.TaggedError<UpstreamError>()("UpstreamError", {
  code: UpstreamCode,
  /** The failed provider; absent if none could be called. */
  provider: Schema.optionalKey(ProviderId),
  detail: Schema.optionalKey(Schema.Redacted(Schema.String)),
  /** The members of the request that are wrong. */
  errors: Schema.optionalKey(Schema.Redacted(Schema.Array(ProblemIssue))),
  said: Schema.optionalKey(Schema.Redacted(ProviderError)),
  /** Milliseconds after which another try may succeed. */
  retryAfterMs: Schema.optionalKey(Schema.Finite),
  /** All failed calls of the request, in order; absent if none was made. */
  attempts: Schema.optionalKey(Schema.Array(Attempt)),
}) {
  override get message(): string {
    const { title } = failureCodes[this.code]
    return this.provider === undefined ? title : `${this.provider}: ${title}`
  }
  get status(): number {
    return failureCodes[this.code].status
  }
  /** Whether the same request may succeed later without being changed. */
  get retryable(): boolean {
    return this.status === 429 || this.status >= 500
  }
}
