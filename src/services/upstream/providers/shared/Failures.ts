/** From what a provider said to the kind of failure that it is. */
import { Redacted } from "effect"
import type { FailureKind } from "../../../../domain/upstream.ts"
import type { Usage } from "../../../../domain/chat.ts"
import { ProviderFailure } from "../../Provider.ts"
import { type ErrorBody, readErrorBody } from "./ErrorBody.ts"

/** A failure of `kind`; `detail` may quote anything, and is redacted here. */
export const failure = (kind: FailureKind, detail?: string, rest: FailureRest = {}): ProviderFailure =>
  new ProviderFailure({
    kind,
    ...(detail === undefined ? {} : { detail: Redacted.make(detail) }),
    ...(rest.retryAfterMs === undefined ? {} : { retryAfterMs: rest.retryAfterMs }),
    ...(rest.usage === undefined ? {} : { usage: rest.usage }),
  })

interface FailureRest {
  readonly retryAfterMs?: number | undefined
  readonly usage?: Usage | undefined
}

/** `found` with the tokens that the call cost, where the failure itself does not say. */
export const withUsage = (found: ProviderFailure, usage: Usage | undefined): ProviderFailure =>
  usage === undefined || found.usage !== undefined
    ? found
    : new ProviderFailure({
        kind: found.kind,
        usage,
        ...(found.detail === undefined ? {} : { detail: found.detail }),
        ...(found.retryAfterMs === undefined ? {} : { retryAfterMs: found.retryAfterMs }),
      })

/** A response that is not what its format says. */
export const garbage = (detail: string): ProviderFailure => failure("garbage", detail)

/** The failure that an error response with `status` and the JSON value `body` is. */
export const failureOfResponse = (status: number, body: unknown, retryAfterMs?: number): ProviderFailure => {
  const error = readErrorBody(body)
  const after = retryAfterMs ?? error.retryAfterMs
  return failure(kindOf(status, error, after !== undefined), error.message, { retryAfterMs: after })
}

/** The failure that an error inside a successful response is: an event of a stream, or a body with `error`. */
export const failureOfEvent = (body: unknown): ProviderFailure => {
  const error = readErrorBody(body)
  const status =
    error.status ?? error.codes.map((code) => STATUS_OF_CODE.get(code)).find((known) => known !== undefined)
  const kind = kindOf(status ?? 500, error, error.retryAfterMs !== undefined)
  return failure(kind, error.message, { retryAfterMs: error.retryAfterMs })
}

/** Error names that appear where no HTTP status does, in events of a stream. */
const STATUS_OF_CODE: ReadonlyMap<string, number> = new Map([
  // Anthropic
  ["invalid_request_error", 400],
  ["authentication_error", 401],
  ["billing_error", 402],
  ["permission_error", 403],
  ["not_found_error", 404],
  ["request_too_large", 413],
  ["rate_limit_error", 429],
  ["api_error", 500],
  ["timeout_error", 504],
  ["overloaded_error", 529],
  // OpenAI and compatible
  ["BadRequestError", 400],
  ["invalid_api_key", 401],
  ["insufficient_quota", 429],
  ["rate_limit_exceeded", 429],
  ["server_error", 500],
])

/** The request as a whole is the problem, so the message may say which problem it is. */
const REQUEST_STATUS: ReadonlySet<number> = new Set([400, 413, 422])

const CONTEXT_CODES: ReadonlySet<string> = new Set(["context_length_exceeded", "exceed_context_size_error"])
/** Anthropic, Gemini and most OpenAI-compatible servers have no code for it, only words. */
const CONTEXT_MESSAGE =
  /prompt is too long|exceed(s|ed)? (the |your )?(available )?context|context (length|window|size|limit)|maximum (prompt|input) length|input token count|too large for model with \d+ maximum context/i

const FILTER_CODES: ReadonlySet<string> = new Set([
  "content_filter",
  "content_policy_violation",
  "invalid_prompt",
  "moderation_blocked",
  "ResponsibleAIPolicyViolation",
])
const FILTER_MESSAGE =
  /content (filter|management|policy)|content filtering policy|usage polic(y|ies)|input was flagged/i

const UNAUTHORIZED_STATUS: ReadonlySet<number> = new Set([401, 402, 403])
/** Some providers report a bad key, and Gemini a place or account that it does not serve, as a bad request. */
const UNAUTHORIZED_CODES: ReadonlySet<string> = new Set(["API_KEY_INVALID", "FAILED_PRECONDITION", "invalid_api_key"])
const UNAUTHORIZED_MESSAGE = /(incorrect|invalid) api key|api key not valid/i

/** 4xx that say nothing about the request: the same request may do later. */
const TRANSIENT_STATUS: ReadonlySet<number> = new Set([408, 409, 425, 498, 499])

const kindOf = (status: number, error: ErrorBody, asksToWait: boolean): FailureKind => {
  const { codes, message = "" } = error
  // These names are clear whatever the status says, or where there is none.
  if (codes.some((code) => CONTEXT_CODES.has(code))) return "context-too-long"
  if (codes.some((code) => FILTER_CODES.has(code))) return "content-filtered"
  if (REQUEST_STATUS.has(status)) {
    if (CONTEXT_MESSAGE.test(message)) return "context-too-long"
    if (codes.some((code) => UNAUTHORIZED_CODES.has(code)) || UNAUTHORIZED_MESSAGE.test(message)) return "unauthorized"
  }
  if ((REQUEST_STATUS.has(status) || status === 403) && FILTER_MESSAGE.test(message)) return "content-filtered"
  if (UNAUTHORIZED_STATUS.has(status)) return "unauthorized"
  if (status === 404) return "unknown-model"
  if (status === 429) return "rate-limited"
  if (status === 503 || status === 529) return asksToWait ? "rate-limited" : "unavailable"
  if (status >= 500 || TRANSIENT_STATUS.has(status)) return "unavailable"
  // Only the size of the body can be meant, and another provider may take larger ones.
  if (status === 413) return "context-too-long"
  // A redirect, or a success that is none of ours: there is no such answer in any of the formats.
  return status < 400 ? "garbage" : "invalid-request"
}
