/** From what a provider said to the kind of failure that it is. */
import type { FailureKind } from "../../../../domain/failures.ts"
import { CALLED_BY_SEALGATE, NOT_SEALED } from "../../../../domain/software.ts"
import type { ProviderFailure } from "../../Provider.ts"
import { PROVIDERS } from "../../Slots.ts"
import { failure } from "../shared/providerFailures.ts"
import { type ErrorBody, readErrorBody } from "./ErrorBody.ts"

/**
 * The statuses of error names, for where there is no status. Every vendor's names count at every provider, because
 * servers pass on the errors of others that stand behind them.
 */
const STATUS_OF_ERROR: ReadonlyMap<string, number> = new Map(
  Object.values(PROVIDERS).flatMap(({ api }) => Object.entries(api.errors)),
)

/** The failure that an error response with `status` and the JSON value `body` is. */
export const failureOfResponse = (status: number, body: unknown, retryAfterMs?: number): ProviderFailure =>
  failureOf(readErrorBody(body), status, retryAfterMs)

/**
 * The failure that an error inside a successful response is: an event of a stream, or the whole body. It is the same as
 * if the response had the status that belongs to the error.
 */
export const failureOfEvent = (body: unknown, retryAfterMs?: number): ProviderFailure => {
  const error = readErrorBody(body)
  const named = error.codes.map((code) => STATUS_OF_ERROR.get(code)).find((known) => known !== undefined)
  return failureOf(error, error.status ?? named, retryAfterMs)
}

const failureOf = (error: ErrorBody, status: number | undefined, retryAfterMs: number | undefined): ProviderFailure => {
  const after = retryAfterMs ?? error.retryAfterMs
  return failure(kindOf(status, error, after !== undefined), error.message, { retryAfterMs: after })
}

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

/** Servers report a model that they do not have, or that the account may not use, with 400, 403 and 404 alike. */
const MODEL_CODES: ReadonlySet<string> = new Set(["model_not_found", "model_decommissioned", "invalid_model"])
const MODEL_MESSAGE = /\bnot a valid model\b|^(invalid|unknown) model\b/i
/** As far from its model as this, in characters, something else may be meant that does not exist. */
const MODEL_REACH = 200

/** Whether a line says of a model that it is not there. In one pass: a pattern with this gap would try it from each word. */
const missesModel = (message: string): boolean => {
  let after = -Infinity
  for (const { 0: found, index } of message.matchAll(/\bmodel\b|\bnot (?:exist|found)|[\n\r\u2028\u2029]/gi)) {
    if (found.toLowerCase() === "model") after = index + found.length
    else if (found.length === 1) after = -Infinity
    else if (index - after <= MODEL_REACH) return true
  }
  return false
}

/** What a sealed proxy and a connector call it when they are taken for a provider. */
const SEALGATE_CODES: ReadonlySet<string> = new Set([NOT_SEALED, CALLED_BY_SEALGATE])

const UNAUTHORIZED_STATUS: ReadonlySet<number> = new Set([401, 402, 403])
/** An account that has run dry is refused like a key: waiting does not cure it, only the operator can. */
const ACCOUNT_CODES: ReadonlySet<string> = new Set([
  "insufficient_quota",
  "exceeded_current_quota_error",
  "billing_hard_limit_reached",
  "billing_not_active",
  "billing_error",
])
const ACCOUNT_MESSAGE = /credit balance is too low|insufficient balance/i
/** Some providers report a bad key, and Gemini a place or account that it does not serve, as a bad request. */
const UNAUTHORIZED_CODES: ReadonlySet<string> = new Set(["API_KEY_INVALID", "FAILED_PRECONDITION", "invalid_api_key"])
const UNAUTHORIZED_MESSAGE = /(incorrect|invalid) api key|api key not valid/i

const RATE_MESSAGE = /rate limit|too many requests/i

/** 4xx that say nothing about the request: the same request may do later. */
const TRANSIENT_STATUS: ReadonlySet<number> = new Set([408, 409, 425, 498, 499])

/** How much of a message is searched for the words that tell what it means. */
const TELLING_CHARS = 2000

/** `status` is `undefined` where there is none, as in most events of a stream: then every word counts. */
const kindOf = (status: number | undefined, error: ErrorBody, asksToWait: boolean): FailureKind => {
  const { codes } = error
  const message = (error.message ?? "").slice(0, TELLING_CHARS)
  const named = (known: ReadonlySet<string>) => codes.some((code) => known.has(code))
  // These names are clear whatever the status says, or where there is none.
  if (named(SEALGATE_CODES)) return "misconfigured"
  if (named(CONTEXT_CODES)) return "context-too-long"
  if (named(FILTER_CODES)) return "content-filtered"
  if (named(MODEL_CODES)) return "unknown-model"
  if (named(ACCOUNT_CODES)) return "unauthorized"
  const ofRequest = status === undefined || REQUEST_STATUS.has(status)
  if (ofRequest) {
    if (CONTEXT_MESSAGE.test(message)) return "context-too-long"
    if (named(UNAUTHORIZED_CODES) || UNAUTHORIZED_MESSAGE.test(message)) return "unauthorized"
    if (ACCOUNT_MESSAGE.test(message)) return "unauthorized"
  }
  if ((ofRequest || status === 403) && FILTER_MESSAGE.test(message)) return "content-filtered"
  if (ofRequest && (MODEL_MESSAGE.test(message) || missesModel(message))) return "unknown-model"
  if (status === undefined) return RATE_MESSAGE.test(message) ? "rate-limited" : "unavailable"
  if (UNAUTHORIZED_STATUS.has(status)) return "unauthorized"
  if (status === 404) return "unknown-model"
  if (status === 429) return "rate-limited"
  if (status === 503 || status === 529) return asksToWait ? "rate-limited" : "unavailable"
  if (status >= 500 || TRANSIENT_STATUS.has(status)) return "unavailable"
  // Only the size of the body can be meant, and another provider may take larger ones.
  if (status === 413) return "context-too-long"
  // A success that is none of ours: there is no such answer in any of the formats.
  return status < 400 ? "garbage" : "invalid-request"
}
