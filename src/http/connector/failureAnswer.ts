/** What the connector answers when there is no response of the sealed `fetch`: in OpenAI's form too. */
import { HttpServerResponse } from "effect/http"
import { AnswerIncomplete, type SealgateErrorCode, SealgateError } from "../../client/errors.ts"
import { type ErrorAnswer, errorBody, errorHeaders } from "../../client/openai/errorResponse.ts"
import { ReceiptsUnwritable } from "./ReceiptFolder.ts"

export const refuse = (answer: ErrorAnswer): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(errorBody(answer), { status: answer.status, headers: errorHeaders(answer) })

/** Trouble between here and the proxy that asking again may cure. Tampering is none: somebody should look at it. */
const PASSING: ReadonlySet<SealgateErrorCode> = new Set(["unreachable", "answer-incomplete"])

/** A failure of the sealed `fetch` as an error. All are this side of the proxy's answer, so none has its status. */
export const failureAnswer = (error: unknown): ErrorAnswer => {
  const cause = error instanceof TypeError && error.cause instanceof SealgateError ? error.cause : error
  if (cause instanceof SealgateError) {
    const code = cause instanceof AnswerIncomplete ? (cause.problem?.code ?? cause.code) : cause.code
    return { status: 502, code, message: cause.message, retryable: PASSING.has(cause.code) }
  }
  if (cause instanceof ReceiptsUnwritable) return { status: 500, code: "receipts-unwritable", message: cause.message }
  if (cause instanceof TypeError) {
    return { status: 502, code: "unreachable", message: "The proxy could not be reached.", retryable: true }
  }
  return { status: 500, code: "internal", message: "Something went wrong in the connector." }
}
