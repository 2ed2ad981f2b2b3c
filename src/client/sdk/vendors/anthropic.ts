/** Anthropic's formats for errors and model lists. */
import type { ErrorAnswer } from "../errorAnswer.ts"
import type { Vendor } from "./Vendor.ts"

/** Anthropic's non-standard status for `overloaded_error`. */
const OVERLOADED = 529

const TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  504: "timeout_error",
  [OVERLOADED]: "overloaded_error",
}

/** Both codes become `overloaded_error`. */
const statusOf = ({ code, status }: ErrorAnswer): number =>
  status === 503 && (code === "overloaded" || code === "draining") ? OVERLOADED : status

const typeOf = (status: number): string => TYPES[status] ?? (status >= 500 ? "api_error" : "invalid_request_error")

export const anthropic: Vendor = {
  requestIdHeader: "request-id",
  statusOf,
  errorBody: (answer, requestId) => ({
    type: "error",
    error: { type: typeOf(statusOf(answer)), message: answer.message, ...answer.providerError },
    ...(requestId === undefined ? {} : { request_id: requestId }),
  }),
  modelList: (models) => ({
    data: models.map(anthropic.model),
    has_more: false,
    first_id: models[0]?.id ?? null,
    last_id: models.at(-1)?.id ?? null,
  }),
  model: ({ id }) => ({ type: "model", id, display_name: id, created_at: UNKNOWN_TIME }),
}

/** Unknown; the format requires a value. */
const UNKNOWN_TIME = "1970-01-01T00:00:00Z"
