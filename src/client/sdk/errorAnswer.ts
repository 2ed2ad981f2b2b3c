/** Turns failures into error answers for SDKs, independent of the vendor. */
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
  /** The vendor's original error object. */
  readonly providerError?: JsonObject | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** Limits the status to errors: anybody on the path can forge a problem that claims success. */
const errorStatus = (status: number): number => (status >= 400 && status <= 599 ? status : 502)

/** Turns a problem into an error answer whose message names the wrong members. */
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

/** Hides an `upstream-unauthorized` error: it is about the operator's key, but programs would ask the user for another. */
const aboutCaller = (problem: Problem | undefined): Problem | undefined =>
  problem?.code === "upstream-unauthorized" ? undefined : problem

/** Returns the path in the caller's request, without the sealed payload's `body.`. */
const memberPath = (path: string): string => path.replace(/^body\./, "")

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

/** Failures that a retry may cure. Tampering is not one: a person should look into it. */
const PASSING: ReadonlySet<SealgateErrorCode> = new Set(["unreachable", "answer-incomplete"])

/** Turns an error of the client into an error answer with 502: there is no trusted answer of the proxy. */
export const clientErrorAnswer = (error: SealgateError): ErrorAnswer =>
  error instanceof AnswerIncomplete
    ? { ...refusalAnswer(error), status: 502 }
    : { status: 502, code: error.code, message: error.message, retryable: PASSING.has(error.code) }

/** Returns a text member of the vendor's original error object, if present. */
export const saidByProvider = ({ providerError }: ErrorAnswer, member: string): string | undefined => {
  const value = isObject(providerError) ? providerError[member] : undefined
  return typeof value === "string" ? value : undefined
}
