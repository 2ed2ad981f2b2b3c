/** OpenAI's formats for errors and model lists, so that SDKs throw their own error classes. */
import type { JsonObject } from "../../../domain/json/json.ts"
import { type ErrorAnswer, saidByProvider } from "../errorAnswer.ts"
import type { Vendor } from "./Vendor.ts"

/** Failures renamed to OpenAI's codes, because applications test for them. Other codes stay unchanged. */
const CODES: Readonly<Record<string, string>> = {
  "context-too-long": "context_length_exceeded",
  "content-filtered": "content_filter",
  "rate-limited": "rate_limit_exceeded",
  "budget-exhausted": "insufficient_quota",
  "budget-reserved": "rate_limit_exceeded",
  "unknown-model": "model_not_found",
  overloaded: "server_is_overloaded",
}

const typeOf = (status: number): string => {
  if (status === 401) return "authentication_error"
  if (status === 403) return "permission_error"
  if (status === 429) return "rate_limit_error"
  return status >= 500 ? "server_error" : "invalid_request_error"
}

export const openai: Vendor = {
  requestIdHeader: "x-request-id",
  statusOf: ({ status }) => status,
  errorBody: (answer) => ({
    error: {
      message: answer.message,
      type: typeOf(answer.status),
      param: answer.param ?? null,
      ...answer.providerError,
      // Other vendors' errors have no code, and some servers repeat the status there.
      code: saidByProvider(answer, "code") ?? codeOf(answer),
    },
  }),
  modelList: (models, query) => ({
    object: "list",
    data: models.map(openai.model),
    // Codex sends its version and requires a `models` member of undocumented form. If it is empty, Codex uses its own
    // list.
    ...(query.get("client_version") ? { models: [] } : {}),
  }),
  model: ({ id, owned_by }) => ({ id, object: "model", created: UNKNOWN_TIME, owned_by }),
}

/** Unknown; the format requires a number. */
const UNKNOWN_TIME = 0

const codeOf = ({ code }: ErrorAnswer): string => CODES[code] ?? code

/**
 * Returns the last event of a broken Responses stream. `response` is its last known state, if any.
 *
 * @param sequence the next `sequence_number`
 */
export const responseFailed = (answer: ErrorAnswer, response: JsonObject | undefined, sequence: number): JsonObject => {
  const error = {
    code: saidByProvider(answer, "code") ?? codeOf(answer),
    message: saidByProvider(answer, "message") ?? answer.message,
  }
  return response === undefined
    ? { type: "error", sequence_number: sequence, ...error, param: answer.param ?? null }
    : { type: "response.failed", sequence_number: sequence, response: { ...response, status: "failed", error } }
}
