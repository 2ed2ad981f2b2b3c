/** Failures as they are told to SDKs, before a vendor's form is given to them. */
import { isObject, type JsonObject } from "../../domain/json/json.ts"
import type { Problem } from "../../domain/problems/problemTypes.ts"
import { AnswerIncomplete, SealedProblem, type SealgateError, type SealgateErrorCode } from "../errors.ts"

export interface ErrorAnswer {
  readonly status: number
  readonly message: string
  readonly code: string
  /** Path of the request's member that is wrong. */
  readonly param?: string | undefined
  readonly retryAfterMs?: number | undefined
  /** Whether the same request may succeed later. */
  readonly retryable?: boolean
  /** The vendor's own error object, which says it best. */
  readonly providerError?: JsonObject | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** A problem may come from anybody on the path, so whatever status it claims, it must not look like a success. */
const errorStatus = (status: number): number => (status >= 400 && status <= 599 ? status : 502)

/** A refusal of the proxy as an answer, with the members that are wrong in its message. */
export const problemAnswer = (problem: Problem, retryAfterMs: number | undefined): ErrorAnswer => {
  const issues = (problem.errors ?? []).map(({ message, path }) => ({ message, path: memberPath(path) }))
  const said = aboutCaller(problem)
  const sentences = [problem.title, problem.detail, ...issues.map(({ message, path }) => `${path}: ${message}`)]
  return {
    status: errorStatus(said?.provider_status ?? problem.status),
    message: sentences.filter((sentence) => sentence !== undefined).join(" "),
    code: problem.code,
    param: issues[0]?.path,
    retryAfterMs,
    retryable: problem.retryable,
    providerError: said?.provider_error,
  }
}

/** A verdict on the operator's own account would read as one on the caller's, whom programs then ask for another key. */
const aboutCaller = (problem: Problem | undefined): Problem | undefined =>
  problem?.code === "upstream-unauthorized" ? undefined : problem

/** The path as the caller wrote the request: without the envelope that the sealed payload puts around it. */
const memberPath = (path: string): string => path.replace(/^body\./, "")

/** A refusal, or an answer that broke off, as an answer. */
export const refusalAnswer = (error: SealedProblem | AnswerIncomplete): ErrorAnswer => {
  if (error instanceof SealedProblem) {
    // A refusal without a seal may come from anybody, and a retry might repeat a request that was served.
    const retryable = error.sealed && error.problem.retryable
    return { ...problemAnswer(error.problem, error.retryAfterMs), retryable }
  }
  const said = aboutCaller(error.problem)
  return {
    status: error.status === "aborted" ? 503 : errorStatus(said?.provider_status ?? error.problem?.status ?? 502),
    code: error.problem?.code ?? error.code,
    message: error.message,
    retryable: error.problem?.retryable ?? true,
    retryAfterMs: error.problem?.retry_after_ms,
    providerError: said?.provider_error,
  }
}

/**
 * Failures between here and the proxy that a retry may cure. Tampering is not among them, because a person should look into
 * it.
 */
const PASSING: ReadonlySet<SealgateErrorCode> = new Set(["unreachable", "answer-incomplete"])

/**
 * An error of the client as an answer of somebody in between. It has no status of the proxy's, because the proxy's answer was
 * not reached or not believed.
 */
export const clientErrorAnswer = (error: SealgateError): ErrorAnswer =>
  error instanceof AnswerIncomplete
    ? { ...refusalAnswer(error), status: 502 }
    : { status: 502, code: error.code, message: error.message, retryable: PASSING.has(error.code) }

/** Text of a member of the vendor's own error object, if it is there. */
export const saidByProvider = ({ providerError }: ErrorAnswer, member: string): string | undefined => {
  const value = isObject(providerError) ? providerError[member] : undefined
  return typeof value === "string" ? value : undefined
}
