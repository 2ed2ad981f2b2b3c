/** Error bodies of all formats in one lenient schema: servers often report errors in another vendor's format. */
import { Option, Predicate, Schema } from "effect"
import { finite } from "./RetryAfter.ts"

export interface ErrorBody {
  readonly message?: string | undefined
  /** Every machine-readable name in the body: types, codes, statuses, reasons. */
  readonly codes: ReadonlyArray<string>
  /** The member of the request that is wrong. */
  readonly param?: string | undefined
  /** OpenRouter: the error of the provider behind it, as text. */
  readonly raw?: string | undefined
  /** The HTTP status that the body itself names. */
  readonly status?: number | undefined
  readonly retryAfterMs?: number | undefined
}

const Text = Schema.optionalKey(Schema.Unknown)

const ErrorObject = Schema.Struct({
  message: Text,
  /** OpenAI, Anthropic: the kind of error. */
  type: Text,
  /** OpenAI: a name; Gemini and some OpenAI-compatible servers: the HTTP status. */
  code: Text,
  /** OpenAI: a member of the request. */
  param: Text,
  /** Gemini: a name from google.rpc.Code. */
  status: Text,
  /** Groq and Hugging Face, in streams: the HTTP status. */
  status_code: Text,
  http_status_code: Text,
  /** Anthropic: an object with `error_code`; Gemini: google.rpc details. */
  details: Text,
  /** Azure: the policy that was violated. */
  innererror: Text,
  /** OpenRouter: an object with the error of the provider behind it as `raw`. */
  metadata: Text,
})
type ErrorObject = typeof ErrorObject.Type

const Detail = Schema.Struct({
  error_code: Schema.optionalKey(Schema.String),
  reason: Schema.optionalKey(Schema.String),
  code: Schema.optionalKey(Schema.String),
  /** google.rpc.RetryInfo: seconds with the suffix `s`. */
  retryDelay: Schema.optionalKey(Schema.String),
})
const decodeDetail = Schema.decodeUnknownOption(Detail)

const decodeBody = Schema.decodeUnknownOption(
  Schema.Union([
    Schema.Struct({ error: ErrorObject }),
    Schema.Struct({ error: Schema.String }),
    Schema.Struct({ detail: Schema.Unknown }),
    ErrorObject,
  ]),
)

/** Whether `body`, any JSON value, reports an error in place of an answer. */
export const reportsError = (body: unknown): boolean => isError(unwrapped(body))

/** The part of `body` that may be an error: Gemini wraps those of streams in an array, gateways in a choice. */
const unwrapped = (body: unknown): unknown => {
  const value: unknown = Array.isArray(body) ? body[0] : body
  const failed = isError(value) ? undefined : failedChoice(value)
  return failed === undefined ? value : { error: failed }
}

const isError = (value: unknown): boolean => {
  if (!Predicate.isReadonlyObject(value)) return false
  if (says(value["error"])) return true
  // Anthropic gives every object a type, as some OpenAI-compatible servers do.
  if (value["type"] === "error" || value["object"] === "error") return true
  return typeof value["message"] === "string" && statusIn(value) !== undefined
}

/** The finish reason with which gateways report that the provider behind them failed. */
const FAILED = "error"

const failedChoice = (value: unknown): unknown => {
  if (!Predicate.hasProperty(value, "choices") || !Array.isArray(value.choices)) return undefined
  const choices: ReadonlyArray<unknown> = value.choices
  const failed = choices
    .filter(Predicate.isReadonlyObject)
    .find((choice) => choice["finish_reason"] === FAILED || isError(choice))
  return failed && (failed["error"] ?? FAILED)
}

/** Whether a member `error` contains an error: some servers always send the member. */
const says = (error: unknown): boolean =>
  Boolean(error) && !(Predicate.isObjectOrArray(error) && Object.keys(error).length === 0)

/** Reads the error in `body`, any JSON value; the result may be empty. */
export const readErrorBody = (body: unknown): ErrorBody => {
  const value = unwrapped(body)
  const decoded = Option.getOrUndefined(decodeBody(value))
  if (decoded === undefined) return { codes: [] }
  const status = statusIn(value)
  if ("detail" in decoded) return { message: text(decoded.detail), codes: [], status }
  if (!("error" in decoded)) return fromObject(decoded, status)
  if (typeof decoded.error !== "string") return fromObject(decoded.error, status)
  return { message: decoded.error, codes: [decoded.error], status }
}

const fromObject = (error: ErrorObject, outerStatus: number | undefined): ErrorBody => {
  const details = [error.details, error.innererror].flat().flatMap((detail) => Option.toArray(decodeDetail(detail)))
  return {
    message: text(error.message),
    // The most specific name comes first, because many codes share one type.
    codes: [error.code, error.status, error.type, ...details.flatMap((d) => [d.error_code, d.reason, d.code])].filter(
      (code) => typeof code === "string",
    ),
    param: text(error.param),
    raw: Predicate.hasProperty(error.metadata, "raw") ? text(error.metadata.raw) : undefined,
    status: statusIn(error) ?? outerStatus,
    retryAfterMs: details.map((detail) => milliseconds(detail.retryDelay)).find((delay) => delay !== undefined),
  }
}

/** The HTTP status in one of the members that servers put it in, as a number or as its digits. */
const statusIn = (holder: unknown): number | undefined =>
  ["code", "status", "status_code", "http_status_code"]
    .map((member) => (Predicate.hasProperty(holder, member) ? holder[member] : undefined))
    .map((value) => (typeof value === "number" || typeof value === "string" ? Number(value) : Number.NaN))
    .find((status) => Number.isInteger(status) && status >= 400 && status < 600)

const text = (value: unknown): string | undefined =>
  value == null ? undefined : typeof value === "string" ? value : JSON.stringify(value)

const milliseconds = (delay: string | undefined): number | undefined => {
  const seconds = delay === undefined ? null : /^(\d+(?:\.\d+)?)s$/.exec(delay)
  return seconds === null ? undefined : finite(Math.ceil(Number(seconds[1]) * 1000))
}
