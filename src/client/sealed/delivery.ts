/**
 * Delivers one sealed request, and no more than once to a provider. A connection that breaks and a balancer that gives
 * up leave open whether the request was served. Then the very same bytes are sent once more: a proxy never serves
 * them twice (docs/protocol, section 7), so this can mend the failure and cannot repeat the request.
 */
import { ROUTE_HEADER, routeOf } from "../../domain/protocol/routingTag.ts"
import { problemFrom } from "../verification/decode.ts"
import { SealedProblem, Unreachable } from "../errors.ts"
import type { SentRequest } from "./sealRequest.ts"
import type { Answer } from "../transport/httpTypes.ts"
import { readRefusal, type Transport } from "../transport/transport.ts"

/** The outcome of a request. */
type Delivered = { readonly type: "answer"; readonly response: Answer } | Failure

/** No sealed answer came back. */
interface Failure {
  readonly type: "failure"
  readonly error: Unreachable | SealedProblem
  /** Whether the proxy that held the session will serve no more in it, and has not served this. */
  readonly sessionOver: boolean
  /** Whether the same bytes are worth sending again: they may not have arrived, and are not served twice if they have. */
  readonly inDoubt: boolean
}

/** The codes with which a proxy says that it did not serve a request and will serve none in its session. */
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
    // The reason of the caller's abort may itself be such an error, of another request.
    if (signal?.aborted === true || !(error instanceof Unreachable)) throw error
    return { type: "failure", error, sessionOver: false, inDoubt: error.mayHaveBeenServed }
  }
}
