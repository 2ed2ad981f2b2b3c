/** Failures of HTTP calls that got no response, or one without success. */
import { Effect, type Scope } from "effect"
import { failureRules } from "../../../../domain/upstream/failures.ts"
import { connectionReason, isLastingFault } from "../../../../domain/problems/systemErrors.ts"
import type { ConnectionFailed, ProviderRequest, ProviderResponse } from "../../HttpExchange.ts"
import type { ProviderFailure } from "../../Provider.ts"
import { MAX_RESPONSE_HEADER_BYTES } from "../../ProviderHttp.ts"
import type { Limits } from "../shared/Limits.ts"
import { failure, garbage } from "../shared/providerFailures.ts"
import { answerJson } from "./answerJson.ts"
import { withCode } from "./brokenConnection.ts"
import { failureOfResponse } from "./errorFailures.ts"
import { PAGE_TYPE, someText } from "./ResponseBody.ts"
import { retryAfterNow } from "./RetryAfter.ts"

/** Codes of undici and the system for a connection attempt that timed out. */
const CONNECT_TIMEOUT_CODES: ReadonlySet<string> = new Set(["UND_ERR_CONNECT_TIMEOUT", "ETIMEDOUT"])

/** Codes for a connection that broke or did not carry HTTP. The server itself can be reached. */
const BROKEN = /^(ECONNRESET|EPIPE|UND_ERR_SOCKET|HPE_\w+)$/

/** Codes for response headers above the limit. */
const TOO_LARGE: ReadonlySet<string> = new Set(["UND_ERR_HEADERS_OVERFLOW", "HPE_HEADER_OVERFLOW"])

export const unanswered = (error: ConnectionFailed): ProviderFailure => {
  const { code } = error
  if (code !== undefined && TOO_LARGE.has(code)) {
    return garbage(`response headers of more than ${MAX_RESPONSE_HEADER_BYTES} bytes`)
  }
  const late = code !== undefined && CONNECT_TIMEOUT_CODES.has(code)
  const broken = code === undefined || BROKEN.test(code)
  const reason = connectionReason(error)
  return failure(
    late ? "connect-timeout" : broken ? "unavailable" : "unreachable",
    withCode("no answer", error),
    // A permanent fault would tell the operator to check the provider's address, which a failed network proxy says
    // nothing about.
    error.atNetworkProxy === true
      ? { reason: `at the network's proxy (HTTPS_PROXY, HTTP_PROXY): ${reason}` }
      : { reason, lasting: isLastingFault(error) || undefined },
  )
}

/** Fails with the failure that a response without a success status means. */
export const refused = Effect.fnUntraced(function* (
  request: ProviderRequest,
  response: ProviderResponse,
  limits: Limits,
): Effect.fn.Return<never, ProviderFailure, Scope.Scope> {
  const reason = `status ${response.status}`
  if (response.status < 400) return yield* failure("redirected", whereTo(request, response), { reason })
  const text = yield* someText(response, limits.errorBytes)
  const after = yield* retryAfterNow(response.headers)
  const html = PAGE_TYPE.test(response.headers["content-type"] ?? "")
  const value = answerJson(text)
  const body = value === undefined && !html && text !== "" ? { error: text } : value
  const found = failureOfResponse(response.status, body, after)
  return yield* html && failureRules[found.kind].verdict ? garbage(`a page with status ${response.status}`) : found
})

/**
 * Describes a redirect. None is followed: keys and prompts go only where the operator sends them. Names the host alone,
 * because the rest of the URL may contain secrets.
 */
const whereTo = (request: ProviderRequest, { headers, status }: ProviderResponse): string => {
  const { location } = headers
  const from = URL.parse(request.url)
  const to = location === undefined ? null : URL.parse(location, request.url)
  const where = !to?.host ? "no address" : to.host === from?.host ? "another address of the same host" : to.host
  return `a redirect (status ${status}) to ${where}`
}
