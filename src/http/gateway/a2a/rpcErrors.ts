/** Errors of A2A: JSON-RPC errors whose details are `google.rpc` messages (A2A 1.0, §9.5). */
import { Data, type Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import type { RequestId } from "../../../api/gateway/JsonRpc.ts"
import { schemaIssues } from "../../../domain/json/schemaIssues.ts"
import type { Problem, ProblemIssue } from "../../../domain/problems/problem.ts"
import { isRefusal, type Refusal } from "../../../domain/problems/refusal.ts"
import type { ErrorForm } from "../../shared/renderProblems.ts"

/** Codes of JSON-RPC 2.0 and of A2A (§5.4), by the reason in `ErrorInfo`. */
const CODES = {
  PARSE_ERROR: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
  INVALID_PARAMS: -32602,
  INTERNAL: -32603,
  TASK_NOT_FOUND: -32001,
  TASK_NOT_CANCELABLE: -32002,
  UNSUPPORTED_OPERATION: -32004,
  CONTENT_TYPE_NOT_SUPPORTED: -32005,
  VERSION_NOT_SUPPORTED: -32009,
}
type Reason = keyof typeof CODES

/** A refusal that only A2A has. */
export class RpcError extends Data.TaggedError("RpcError")<{ readonly reason: Reason; readonly message: string }> {}

export type MethodFailure = RpcError | Refusal | Schema.SchemaError

/** The reason of a problem, if it has one at A2A. */
const REASON_OF: Readonly<Record<string, Reason>> = {
  "job-not-found": "TASK_NOT_FOUND",
  "thread-not-found": "INVALID_PARAMS",
  "cursor-invalid": "INVALID_PARAMS",
  "thread-busy": "UNSUPPORTED_OPERATION",
  "input-not-required": "UNSUPPORTED_OPERATION",
  "input-invalid": "INVALID_PARAMS",
  "idempotency-key-reused": "INVALID_PARAMS",
}

/**
 * The framework's message for a body that is not JSON. A problem without `errors` is about JSON that was refused as a
 * whole.
 */
const NO_JSON = "Expected a valid JSON body"

const reasonOf = ({ code, errors, status }: Problem): Reason => {
  if (code === "invalid-request" && (errors === undefined || errors[0]?.message === NO_JSON)) return "PARSE_ERROR"
  return REASON_OF[code] ?? (status >= 500 ? "INTERNAL" : "INVALID_REQUEST")
}

const errorWith = (
  reason: Reason,
  message: string,
  issues: ReadonlyArray<ProblemIssue> = [],
  metadata: Readonly<Record<string, string>> = {},
) => {
  const info = { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason, domain: "a2a-protocol.org", metadata }
  const fieldViolations = issues.map(({ message, path }) => ({ field: path, description: message }))
  const violations = { "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations }
  const code = CODES[reason]
  return { code, message, data: issues.length === 0 ? [info] : [info, violations] }
}

/** The problem's code stays readable for programs, beside its trace. */
const errorOfProblem = (problem: Problem) => {
  const { code, detail, errors, retryable, title, trace_id } = problem
  const metadata = { code, retryable: String(retryable), ...(trace_id === undefined ? {} : { trace_id }) }
  return errorWith(reasonOf(problem), detail === undefined ? title : `${title} ${detail}`, errors, metadata)
}

export const errorOf = (failure: MethodFailure) => {
  if (isRefusal(failure)) return errorOfProblem(failure.problem)
  if (failure._tag === "RpcError") return errorWith(failure.reason, failure.message)
  const issues = schemaIssues(failure.issue, ["params"])
  const mistakes = issues.map(({ message, path }) => `${path}: ${message}`).join("; ")
  return errorWith("INVALID_PARAMS", `Correct the params. ${mistakes}`, issues)
}

/** A failed request; `id` is `null` if the request could not be read. */
export const failed = (id: RequestId | null, error: ReturnType<typeof errorOf>) => ({ jsonrpc: "2.0", id, error })

const respond: ErrorForm = (_, problem, headers) =>
  HttpServerResponse.jsonUnsafe(failed(null, errorOfProblem(problem)), {
    status: problem.status,
    headers: { "cache-control": "no-store", ...headers },
  })

/** The form of errors at the agents' endpoints; those of cards are problem documents. */
export const a2aForm = (path: string): ErrorForm | undefined =>
  path.startsWith("/a2a/") && !path.includes("/.well-known/") ? respond : undefined
