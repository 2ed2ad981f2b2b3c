/**
 * Error bodies of all the formats, read by one lenient schema: servers that speak one vendor's format often report
 * errors in another's.
 */
import { Option, Predicate, Schema } from "effect"
import { finite } from "./RetryAfter.ts"

/** What an error body says. */
export interface ErrorBody {
  readonly message?: string | undefined
  /** Every machine-readable name in it: types, codes, statuses, reasons. */
  readonly codes: ReadonlyArray<string>
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
  /** Gemini: a name from google.rpc.Code. */
  status: Text,
  /** Anthropic: an object with `error_code`; Gemini: google.rpc details. */
  details: Text,
  /** Azure: the policy that was violated. */
  innererror: Text,
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
export const reportsError = (body: unknown): boolean => Predicate.hasProperty(body, "error") && Boolean(body.error)

/** Reads `body`, any JSON value. Whatever it is, there is an answer, if an empty one. */
export const readErrorBody = (body: unknown): ErrorBody => {
  // Gemini wraps the error of a stream in an array.
  const decoded = Option.getOrUndefined(decodeBody(Array.isArray(body) ? body[0] : body))
  if (decoded === undefined) return { codes: [] }
  if ("detail" in decoded) return { message: text(decoded.detail), codes: [] }
  if (!("error" in decoded)) return fromObject(decoded)
  return typeof decoded.error === "string" ? { message: decoded.error, codes: [] } : fromObject(decoded.error)
}

const fromObject = (error: ErrorObject): ErrorBody => {
  const details = [error.details, error.innererror].flat().flatMap((detail) => Option.toArray(decodeDetail(detail)))
  const status = typeof error.code === "string" ? Number(error.code) : error.code
  return {
    message: text(error.message),
    codes: [error.type, error.code, error.status, ...details.flatMap((d) => [d.error_code, d.reason, d.code])].filter(
      (code) => typeof code === "string",
    ),
    status: typeof status === "number" && status >= 400 && status < 600 ? status : undefined,
    retryAfterMs: details.map((detail) => milliseconds(detail.retryDelay)).find((delay) => delay !== undefined),
  }
}

const text = (value: unknown): string | undefined =>
  value == null ? undefined : typeof value === "string" ? value : JSON.stringify(value)

const milliseconds = (delay: string | undefined): number | undefined => {
  const seconds = delay === undefined ? null : /^(\d+(?:\.\d+)?)s$/.exec(delay)
  return seconds === null ? undefined : finite(Math.ceil(Number(seconds[1]) * 1000))
}
