/** Classifies the errors that providers report. */
import { withoutUndefined } from "../../../../domain/json/withoutUndefined.ts"
import { FORM_NAMES, LIMIT_NAMES } from "../../../../domain/upstream/adaptedMembers.ts"
import type { FailureKind } from "../../../../domain/upstream/failures.ts"
import { isObject, type JsonObject } from "../../../../domain/json/json.ts"
import { CALLED_BY_SEALGATE, NOT_SEALED } from "../../../../domain/operations/software.ts"
import type { ProviderFailure } from "../../Provider.ts"
import { PROVIDERS } from "../../Slots.ts"
import { failure } from "../shared/providerFailures.ts"
import { type ErrorBody, readErrorBody } from "./ErrorBody.ts"

/** HTTP statuses by error name, of all vendors at every provider, because servers pass on errors of servers behind them. */
const STATUS_OF_ERROR: ReadonlyMap<string, number> = new Map(
  Object.values(PROVIDERS).flatMap(({ format }) => Object.entries(format.errors)),
)

/** Classifies an error response with `status` and the JSON value `body`. */
export const failureOfResponse = (status: number, body: unknown, retryAfterMs?: number): ProviderFailure => {
  const error = readErrorBody(body)
  // The status counts even if nothing in the body can be read.
  return failureOf(error, status, retryAfterMs, errorIn(body, error) ?? {}, `status ${status}`)
}

/** Classifies an error in a successful response, an event or the whole body, by the status that it would have. */
export const failureOfEvent = (body: unknown, retryAfterMs?: number): ProviderFailure => {
  const error = readErrorBody(body)
  const named = error.codes.map((code) => STATUS_OF_ERROR.get(code)).find((known) => known !== undefined)
  return failureOf(error, error.status ?? named, retryAfterMs, errorIn(body, error))
}

const failureOf = (
  error: ErrorBody,
  status: number | undefined,
  retryAfterMs: number | undefined,
  own: JsonObject | undefined,
  reason?: string,
): ProviderFailure => {
  const after = retryAfterMs ?? error.retryAfterMs
  return failure(kindOf(status, error, after !== undefined), error.message, {
    retryAfterMs: after,
    reason,
    // A success status, such as that of a page, is not the status of an error.
    said:
      own === undefined
        ? undefined
        : { ...withoutUndefined({ status: isError(status) ? status : undefined }), error: own },
  })
}

const isError = (status: number | undefined): boolean => status !== undefined && status >= 400

/** The error object of a body: its member `error`, or itself if it has an error's members; a text as its `message`. */
const errorIn = (body: unknown, { message }: ErrorBody): JsonObject | undefined => {
  if (isObject(body) && isObject(body["error"])) return body["error"]
  if (isObject(body) && typeof body["message"] === "string") return body
  return message === undefined ? undefined : { message }
}

/** Statuses that blame the request as a whole, so that the message may name the cause. */
const REQUEST_STATUS: ReadonlySet<number> = new Set([400, 413, 422])

const CONTEXT_CODES: ReadonlySet<string> = new Set([
  "context_length_exceeded",
  "exceed_context_size_error",
  "model_max_prompt_tokens_exceeded",
])
/** Anthropic, Gemini and most OpenAI-compatible servers have no code for this, only a message. */
const CONTEXT_MESSAGES: ReadonlyArray<RegExp> = [
  /(prompt|input) is too long|exceed(s|ed)? (the |your )?(available )?context|context (length|window|size|limit)/i,
  /maximum (prompt|input) length|(prompt|input) token count|too large for model with \d+ maximum context/i,
  /exceeded model token limit|range of input length should be|prompt exceeds max length|input tokens exceed/i,
  /`inputs` (tokens \+ `max_new_tokens` must be <=|must have less than) \d|max_tokens must be at least 1, got -(?!1\b)/i,
]

/** OpenAI's words for a request larger than its limit per minute. The same words describe requests that fit later. */
const neverFits = (message: string): boolean => {
  const [, limit, requested] =
    /^request too large for[^\n]{1,300}\blimit (\d{1,12}), requested (\d{1,12})/i.exec(message) ?? []
  return Number(requested) > Number(limit)
}

const FILTER_CODES: ReadonlySet<string> = new Set([
  "content_filter",
  "content_policy_violation",
  "image_content_policy_violation",
  "invalid_prompt",
  "moderation_blocked",
  "ResponsibleAIPolicyViolation",
])
const FILTER_MESSAGE =
  /content (filter|management|policy)|content filtering policy|usage polic(y|ies)|violates usage guidelines|input was flagged/i

/** Groq: the model's output is neither a tool call nor JSON. The next attempt may succeed. */
const BROKEN_CODES: ReadonlySet<string> = new Set(["tool_use_failed", "json_validate_failed"])

/** Servers report an unknown or forbidden model with 400, 403 and 404 alike. */
const MODEL_CODES: ReadonlySet<string> = new Set([
  "model_not_found",
  "model_decommissioned",
  "invalid_model",
  "model_not_available",
  "model_terms_required",
])
const MODEL_MESSAGE = /\bnot a valid model\b|^(invalid|unknown) model\b|\bmodel identifier is invalid\b/i
/** The greatest distance in characters between "model" and "not found". Farther apart, they may concern different things. */
const MODEL_REACH = 200

/** Whether a line says that a model does not exist: one pass, as a pattern with a gap would restart at each word. */
const missesModel = (message: string): boolean => {
  let after = -Infinity
  for (const { 0: found, index } of message.matchAll(/\bmodel\b|\bnot (?:exist|found)|[\n\r\u2028\u2029]/gi)) {
    if (found.toLowerCase() === "model") after = index + found.length
    else if (found.length === 1) after = -Infinity
    else if (index - after <= MODEL_REACH) return true
  }
  return false
}

const ABILITY_CODES: ReadonlySet<string> = new Set([
  // Only the provider that wrote the reasoning can decrypt it.
  "invalid_encrypted_content",
  "previous_response_not_found",
  "unsupported_value",
  "unsupported_parameter",
  "OperationNotSupported",
])
const ABILITY_MESSAGE =
  /\bdoes not support\b|\bnot (supported|enabled) (with|by|for|on|in) |tool choice requires --enable-auto-tool-choice|invalid `signature` in `thinking` block/i

/** Only the provider that made a response can continue it. Servers say so with 400 or 404. */
const RESPONSE_MESSAGE = /^invalid `?previous_response_id\b|\bresponse with id \S{1,200} not found/i

/** OpenRouter's words with status 404 for a model that none of its servers offers with what the request needs. */
const NO_ENDPOINT = /^no endpoints found that (support|can handle)\b/i

/** Messages for an unknown path. They do not concern the model: the base URL is wrong. LM Studio's has status 200. */
const NO_PATH = /^(404:? )?((page|resource) )?not found\.?$|^unexpected endpoint or method\b/i

/** Codes of a sealed proxy or a connector that is configured as a provider. */
const SEALGATE_CODES: ReadonlySet<string> = new Set([NOT_SEALED, CALLED_BY_SEALGATE])

const UNAUTHORIZED_STATUS: ReadonlySet<number> = new Set([401, 402, 403])
/** An account without credit counts as a refused key: waiting does not help, and only the operator can fix it. */
const ACCOUNT_CODES: ReadonlySet<string> = new Set([
  "insufficient_quota",
  "exceeded_current_quota_error",
  "billing_hard_limit_reached",
  "billing_not_active",
  "billing_error",
  "organization_restricted",
  "Arrearage",
])
/** Only at the beginning of a message: later in it, a provider may quote the request. */
const ACCOUNT_MESSAGES: ReadonlyArray<RegExp> = [
  /^(your )?credit balance is too low|^insufficient balance/i,
  /^you have reached your specified (workspace )?api usage limits|^this organization has been disabled/i,
  /^account \S{1,200} is suspended/i,
  /^your organization must be verified/i,
  /^your team \S{1,100} has (either )?used all available credits/i,
  /^your prepayment credits are depleted|^your project has exceeded its (monthly )?spending cap/i,
]
/** Some providers report a bad key as a bad request. Gemini does so for unsupported regions and accounts. */
const UNAUTHORIZED_CODES: ReadonlySet<string> = new Set(["API_KEY_INVALID", "FAILED_PRECONDITION", "invalid_api_key"])
const UNAUTHORIZED_MESSAGE = /^((incorrect|invalid) api key|api key not valid)/i

const RATE_MESSAGE = /rate limit|too many requests/i

/** 4xx statuses that do not blame the request: the same request may succeed later. */
const TRANSIENT_STATUS: ReadonlySet<number> = new Set([408, 409, 424, 425, 498, 499])

/** The length of a message that is searched, in characters. */
const TELLING_CHARS = 2000

/** `status` is `undefined` for most events of a stream. Then every message is searched. */
const kindOf = (status: number | undefined, error: ErrorBody, asksToWait: boolean): FailureKind => {
  const { codes } = error
  const message = (error.message ?? "").slice(0, TELLING_CHARS)
  const named = (known: ReadonlySet<string>) => codes.some((code) => known.has(code))
  // These codes are unambiguous under any status.
  if (named(SEALGATE_CODES)) return "misconfigured"
  if (named(BROKEN_CODES)) return "broken"
  if (named(CONTEXT_CODES)) return "context-too-long"
  if (named(FILTER_CODES)) return "content-filtered"
  if (named(MODEL_CODES)) return "unknown-model"
  if (named(ACCOUNT_CODES)) return "unauthorized"
  // An MCP server that the caller named failed.
  if (codes.includes("external_connector_error")) return "invalid-request"
  const ofRequest = status === undefined || REQUEST_STATUS.has(status)
  if (ofRequest) {
    const raw = (error.raw ?? "").slice(0, TELLING_CHARS)
    if (CONTEXT_MESSAGES.some((known) => known.test(message) || known.test(raw))) return "context-too-long"
    if (named(UNAUTHORIZED_CODES) || UNAUTHORIZED_MESSAGE.test(message)) return "unauthorized"
  }
  if ((status === undefined || status < 500) && ACCOUNT_MESSAGES.some((known) => known.test(message)))
    return "unauthorized"
  if ((ofRequest || status === 403) && FILTER_MESSAGE.test(message)) return "content-filtered"
  if ((ofRequest || status === 404) && RESPONSE_MESSAGE.test(message)) return "incapable"
  if (ofRequest && (MODEL_MESSAGE.test(message) || missesModel(message))) return "unknown-model"
  if ((status === undefined || status === 404) && NO_PATH.test(message.trim())) return "misconfigured"
  if (status === undefined) return RATE_MESSAGE.test(message) ? "rate-limited" : "unavailable"
  if (UNAUTHORIZED_STATUS.has(status)) return "unauthorized"
  if (status === 404 || status === 410) return NO_ENDPOINT.test(message) ? "incapable" : "unknown-model"
  if (status === 429) return neverFits(message) ? "too-large" : "rate-limited"
  if (status === 503 || status === 529) return asksToWait ? "rate-limited" : "unavailable"
  if (status >= 500 || TRANSIENT_STATUS.has(status)) return "unavailable"
  // 413 can only mean the size of the body, and another provider may accept larger ones.
  if (status === 413) return "too-large"
  // No format has a success with this body.
  if (status < 400) return "garbage"
  return isAdapted(message, error) || !(named(ABILITY_CODES) || ABILITY_MESSAGE.test(message))
    ? "invalid-request"
    : "incapable"
}

/** Whether the router may adapt the refused member. It then asks the same target again, so the search must end here. */
const isAdapted = (message: string, { param = "" }: ErrorBody): boolean =>
  [message, param].some((text) => FORM_NAMES.test(text) || LIMIT_NAMES.test(text))
