/**
 * Delivers a sealed request. If it is unknown whether the request was served, as after a broken connection, the same bytes
 * are sent once more: a proxy never serves them twice (sealed protocol §7).
 */
import { ROUTE_HEADER, routeOf } from "../../domain/protocol/routingTag.ts"
import { problemFrom } from "../verification/decode.ts"
import { SealedProblem, Unreachable } from "../errors.ts"
import type { SentRequest } from "./sealRequest.ts"
import type { HttpResponse } from "../transport/httpTypes.ts"
import { readRefusal, type Transport } from "../transport/transport.ts"

type Delivered = { readonly type: "answer"; readonly response: HttpResponse } | Undelivered

/** No sealed answer came back. */
interface Undelivered {
  readonly type: "failure"
  readonly error: Unreachable | SealedProblem
  /** Whether the proxy did not serve the request and has ended the session. */
  readonly sessionOver: boolean
  /** Whether to send the same bytes again: it is unknown whether they were served. */
  readonly inDoubt: boolean
}

/** Codes of refusals that end the session; the request was not served. */
const SESSION_OVER = new Set(["session-gone", "draining"])

export const deliver = async (
  transport: Transport,
  sent: SentRequest,
  signal: AbortSignal | undefined,
): Promise<Delivered> => {
  const first = await deliverOnce(transport, sent, signal)
  if (first.type !== "failure" || !first.inDoubt) return first
  const second = await deliverOnce(transport, sent, signal)
  // A refusal of the second copy does not show what happened to the first.
  return second.type === "failure" ? first : second
}

const deliverOnce = async (
  transport: Transport,
  { body, session }: SentRequest,
  signal: AbortSignal | undefined,
): Promise<Delivered> => {
  const exchange = { mayHaveBeenServed: true, signal }
  try {
    const headers = { [ROUTE_HEADER]: routeOf(session.id) }
    const response = await transport.post("/v1/completions", JSON.stringify(body), exchange, { headers })
    if (response.ok) return { type: "answer", response }
    const { problem, retryAfterMs, status } = await readRefusal(response, exchange)
    // A proxy refuses with a problem document. Any other response comes from something in between, and leaves it open
    // whether the request was served.
    const served = problem === undefined ? true : undefined
    return {
      type: "failure",
      error: new SealedProblem(problem ?? problemFrom({}, status), false, retryAfterMs, served),
      sessionOver: problem !== undefined && SESSION_OVER.has(problem.code),
      inDoubt: problem === undefined,
    }
  } catch (error) {
    // The caller's abort reason may itself be an `Unreachable` of another request.
    if (signal?.aborted === true || !(error instanceof Unreachable)) throw error
    return { type: "failure", error, sessionOver: false, inDoubt: error.mayHaveBeenServed }
  }
}
