/** Failures as an OpenAI endpoint tells them, so that the SDKs' own error classes come out. */
import type { Problem } from "../../domain/problem.ts"

export interface ErrorAnswer {
  readonly status: number
  readonly message: string
  readonly code: string
  /** Path of the request's member that is wrong. */
  readonly param?: string | undefined
  readonly retryAfterMs?: number | undefined
  /** Whether the same request may succeed later. */
  readonly retryable?: boolean
  readonly headers?: Readonly<Record<string, string>>
}

/** OpenAI's codes for failures that exist here too, because applications test for them. Other codes stay unchanged. */
const CODES: Readonly<Record<string, string>> = {
  "context-too-long": "context_length_exceeded",
  "content-filtered": "content_filter",
  "rate-limited": "rate_limit_exceeded",
  "unknown-model": "model_not_found",
}

const typeOf = (status: number): string => {
  if (status === 401) return "authentication_error"
  if (status === 403) return "permission_error"
  if (status === 429) return "rate_limit_error"
  return status >= 500 ? "server_error" : "invalid_request_error"
}

/** The `error` object of OpenAI's error bodies. */
export const errorBody = ({ code, message, param, status }: ErrorAnswer) => ({
  error: { message, type: typeOf(status), param: param ?? null, code: CODES[code] ?? code },
})

/** Headers that belong to an error. `x-should-retry` is what OpenAI's SDKs obey before anything else. */
export const errorHeaders = ({ headers, retryAfterMs, retryable }: ErrorAnswer): Readonly<Record<string, string>> => ({
  "content-type": "application/json",
  "cache-control": "no-store",
  "x-should-retry": String(retryable === true),
  ...(retryAfterMs === undefined ? {} : { "retry-after": String(Math.max(1, Math.ceil(retryAfterMs / 1000))) }),
  ...headers,
})

export const errorResponse = (answer: ErrorAnswer): Response =>
  new Response(JSON.stringify(errorBody(answer)), { status: answer.status, headers: errorHeaders(answer) })

/** A problem may come from anybody on the path, so whatever status it claims, it must not look like a success. */
const errorStatus = (status: number): number => (status >= 400 && status <= 599 ? status : 502)

/** A refusal of the proxy as an answer, with the members that are wrong in its message. */
export const problemAnswer = (problem: Problem, retryAfterMs: number | undefined): ErrorAnswer => {
  const issues = (problem.errors ?? []).map(({ message, path }) => ({ message, path: memberPath(path) }))
  const sentences = [problem.title, problem.detail, ...issues.map(({ message, path }) => `${path}: ${message}`)]
  return {
    status: errorStatus(problem.status),
    message: sentences.filter((sentence) => sentence !== undefined).join(" "),
    code: problem.code,
    param: issues[0]?.path,
    retryAfterMs,
    retryable: problem.retryable,
  }
}

/** The path as the caller wrote the request: without the envelope that the sealed payload puts around it. */
const memberPath = (path: string): string => path.replace(/^body\./, "")
