/** What both components say to and hear from model providers. */
import { type Redacted, Schema } from "effect"
import type { ChatChunk, ChatCompletion, ChatRequest, FinishReason, Usage } from "./chat.ts"

/** Slots 1 and 2 are OpenAI-compatible, 3 is Anthropic's Messages API, 4 the Gemini API, `echo` is built in. */
export const ProviderId = Schema.Literals(["provider1", "provider2", "provider3", "provider4", "echo"])
export type ProviderId = typeof ProviderId.Type

export interface UpstreamRequest {
  readonly completion: ChatRequest
  /** Which provider must serve it; without it the configured order is followed. */
  readonly provider?: ProviderId | undefined
}

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
}

/**
 * What a streamed answer consists of. A stream that succeeded ends with `Finished`; a stream that ends in any other
 * way fails, so truncation cannot be taken for success. After `Restarted` everything before it is void: the upstream
 * failed after output began and another attempt took over.
 */
export type StreamEvent =
  | { readonly _tag: "Delta"; readonly chunk: ChatChunk }
  | { readonly _tag: "Restarted"; readonly reason: string; readonly provider: ProviderId; readonly model: string }
  | { readonly _tag: "Finished"; readonly served: Served }

/** HTTP status with which each kind of failure reaches the caller. */
export const UPSTREAM_STATUS = {
  "invalid-request": 400,
  "context-too-long": 400,
  "provider-not-configured": 422,
  unsupported: 422,
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
  /** The provider that failed last; absent when none was called. */
  provider: Schema.optionalKey(ProviderId),
  detail: Schema.optionalKey(Schema.Redacted(Schema.String)),
  /** Milliseconds after which another try may succeed. */
  retryAfterMs: Schema.optionalKey(Schema.Finite),
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

/** Bearer credential of a provider. */
export type ProviderKey = Redacted.Redacted
