/** What both components say to and hear from model providers. */
import { Schema } from "effect"
import { type ChatChunk, type ChatCompletion, type ChatRequest, type FinishReason, Usage } from "./chat.ts"

/** Slots 1 and 2 are OpenAI-compatible, 3 is Anthropic's Messages API, 4 the Gemini API, `echo` is built in. */
export const ProviderId = Schema.Literals(["provider1", "provider2", "provider3", "provider4", "echo"])
export type ProviderId = typeof ProviderId.Type

/** A model of a provider. */
export interface UpstreamTarget {
  readonly provider: ProviderId
  readonly model: string
  /** The model's context window in tokens, where it is known. */
  readonly contextTokens?: number | undefined
}

export interface UpstreamRequest {
  readonly completion: ChatRequest
  /** Which provider must serve it; without it the configured order is followed. */
  readonly provider?: ProviderId | undefined
  /** The targets to try, in this order, in place of `provider` and the request's model: a router's choice. */
  readonly targets?: ReadonlyArray<UpstreamTarget> | undefined
  /**
   * Whether the caller of a stream can take {@link StreamEvent} `Restarted` (the default). Without it, a stream that
   * breaks after output began fails with `upstream-truncated` or `upstream-timeout`.
   */
  readonly restart?: boolean | undefined
  /** Told of every call as it ends, also when the caller goes away: for whoever has to account for all of them. */
  readonly onAttempt?: ((attempt: Attempt) => void) | undefined
}

/** How one call to one provider failed. */
export const FailureKind = Schema.Literals([
  /** 429, or 503 with `Retry-After`. */
  "rate-limited",
  /** Other 5xx, connection refused or reset, DNS or TLS failure. */
  "unavailable",
  /** No connection, no answer, no first token, or no further chunk in time. */
  "timeout",
  /** The answer ended before the provider said that it was finished. */
  "truncated",
  /** Not JSON, wrong content type, a shape the format does not allow, or more than its limits allow. */
  "garbage",
  "context-too-long",
  "content-filtered",
  "invalid-request",
  /** This product's own credentials were refused. */
  "unauthorized",
  /** The provider does not have the model, or this product's account has no access to it. */
  "unknown-model",
  /** The request has something that the provider's format cannot express; nothing was sent. */
  "unsupported",
])
export type FailureKind = typeof FailureKind.Type

/** How a call ended. `interrupted`: the caller went away, so it may have cost more than the provider had said by then. */
export const AttemptOutcome = Schema.Literals(["success", ...FailureKind.literals, "interrupted"])
export type AttemptOutcome = typeof AttemptOutcome.Type

/** One call to one provider, as accounting sees it: everything it was, nothing it said. Times in ms since the epoch. */
export const Attempt = Schema.Struct({
  provider: ProviderId,
  /** The model that was asked for. */
  model: Schema.String,
  /** The model that answered, where it said so. */
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
})
export type Attempt = typeof Attempt.Type

/** Who really served a request, and what it cost in tokens. `usage` is `null` when the provider sent none. */
export interface Served {
  readonly provider: ProviderId
  readonly model: string
  readonly finishReasons: ReadonlyArray<FinishReason>
  readonly usage: Usage | null
}

export interface Completed {
  readonly completion: ChatCompletion
  readonly served: Served
  /** Every call made for this answer, in order; the last one succeeded. */
  readonly attempts: ReadonlyArray<Attempt>
}

/**
 * What a streamed answer consists of. A stream that succeeded ends with `Finished`; a stream that ends in any other
 * way fails, so truncation cannot be taken for success. After `Restarted` everything before it is void: the upstream
 * failed after output began and another attempt took over.
 */
export type StreamEvent =
  | { readonly _tag: "Delta"; readonly provider: ProviderId; readonly chunk: ChatChunk }
  | { readonly _tag: "Restarted"; readonly reason: string; readonly provider: ProviderId; readonly model: string }
  | { readonly _tag: "Finished"; readonly served: Served; readonly attempts: ReadonlyArray<Attempt> }

/** HTTP status with which each kind of failure reaches the caller. */
export const UPSTREAM_STATUS = {
  "invalid-request": 400,
  "context-too-long": 400,
  "provider-not-configured": 422,
  unsupported: 422,
  "unknown-model": 422,
  "content-filtered": 422,
  "rate-limited": 429,
  "upstream-unauthorized": 502,
  "upstream-unavailable": 502,
  "upstream-protocol": 502,
  "upstream-truncated": 502,
  overloaded: 503,
  "upstream-timeout": 504,
} as const
export type UpstreamCode = keyof typeof UPSTREAM_STATUS

/** A sentence per kind of failure that is safe to show anywhere: it quotes neither prompt nor provider. */
export const UPSTREAM_TITLE: Readonly<Record<UpstreamCode, string>> = {
  "invalid-request": "The provider refused the request as invalid.",
  "context-too-long": "The request is longer than the model's context.",
  "provider-not-configured": "The requested provider is not configured here.",
  unsupported: "The provider cannot express this request.",
  "unknown-model": "The provider does not have this model; ask for another, or tell its operator if you named none.",
  "content-filtered": "The provider's content filter refused the request.",
  "rate-limited": "The provider's rate limit is exhausted; try again later.",
  "upstream-unauthorized": "The provider refused this proxy's credentials; tell its operator.",
  "upstream-unavailable": "The provider could not be reached or failed.",
  "upstream-protocol": "The provider's answer could not be understood.",
  "upstream-truncated": "The provider's answer broke off before its end.",
  overloaded: "No provider has capacity right now; try again later.",
  "upstream-timeout": "The provider did not answer in time.",
}

const UpstreamCode = Schema.Literals([
  "invalid-request",
  "context-too-long",
  "provider-not-configured",
  "unsupported",
  "unknown-model",
  "content-filtered",
  "rate-limited",
  "upstream-unauthorized",
  "upstream-unavailable",
  "upstream-protocol",
  "upstream-truncated",
  "overloaded",
  "upstream-timeout",
]) satisfies Schema.Schema<UpstreamCode>

/**
 * A provider call that failed for good. `message` is safe for logs and spans; `detail` may quote the prompt, so it is
 * redacted until it is put inside a seal or an answer to the caller.
 */
export class UpstreamError extends Schema.TaggedError<UpstreamError>()("UpstreamError", {
  code: UpstreamCode,
  /** The provider whose failure this is; absent when none could be asked. */
  provider: Schema.optionalKey(ProviderId),
  detail: Schema.optionalKey(Schema.Redacted(Schema.String)),
  /** Milliseconds after which another try may succeed. */
  retryAfterMs: Schema.optionalKey(Schema.Finite),
  /** Every call made for the request, in order, none of which succeeded; absent when none was made. */
  attempts: Schema.optionalKey(Schema.Array(Attempt)),
}) {
  override get message(): string {
    return this.provider === undefined ? UPSTREAM_TITLE[this.code] : `${this.provider}: ${UPSTREAM_TITLE[this.code]}`
  }
  /** HTTP status for the caller. */
  get status(): number {
    return UPSTREAM_STATUS[this.code]
  }
  /** Whether the same request may succeed later without being changed. */
  get retryable(): boolean {
    return this.status === 429 || this.status >= 500
  }
}
