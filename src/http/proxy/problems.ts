/** How the proxy's refusals before opening look on the wire (sealed protocol §4.8). */
import type { HttpServerResponse } from "effect/http"
import { makeProblem } from "../../domain/problem.ts"
import type { TooManyInFlight } from "../../services/access/ConcurrencyLimits.ts"
import type { RateLimited } from "../../services/access/RateLimits.ts"
import type { OpeningError } from "../../services/sealing/SealedExchange.ts"
import { problemResponse, retryAfter } from "../shared/Problems.ts"

/** When a place of a caller's own may be free again, in milliseconds: nobody can know, so soon. */
const PLACE_RETRY_MS = 1000

const draining = makeProblem({
  code: "draining",
  status: 503,
  title: "The proxy is shutting down.",
  detail: "Send the request to another instance, or here again in a moment.",
})

// One body for every way in which opening can fail: the reason would tell an attacker something.
const unopenable = makeProblem({
  code: "unopenable",
  status: 400,
  title: "The sealed request could not be opened.",
  detail: "It was not sealed to this session, or it was changed on the way.",
})

const replayed = makeProblem({
  code: "replayed",
  status: 409,
  title: "This request was served before.",
  detail: "Every request needs a fresh HPKE context; seal it again.",
})

const sessionGone = makeProblem({
  code: "session-gone",
  status: 410,
  title: "There is no such session any more.",
  detail: "It expired, was used up, or never existed. Begin a new one with POST /v1/init and seal again.",
  retryable: true,
})

/** The server is on its way down. */
export const drainingResponse = (): HttpServerResponse.HttpServerResponse =>
  problemResponse(draining, retryAfter(PLACE_RETRY_MS))

/** The answer to a request that was not opened. */
export const refusalResponse = (
  error: OpeningError | RateLimited | TooManyInFlight,
): HttpServerResponse.HttpServerResponse => {
  switch (error._tag) {
    case "Unopenable":
      return problemResponse(unopenable)
    case "Replayed":
      return problemResponse(replayed)
    case "SessionGone":
      return problemResponse(sessionGone)
    case "CiphertextTooLarge":
      return problemResponse(
        makeProblem({
          code: "too-large",
          status: 413,
          title: "The ciphertext is too large.",
          detail: `At most ${error.maxBytes} bytes are accepted.`,
        }),
      )
    case "RateLimited":
      return problemResponse(
        makeProblem({
          code: "rate-limited",
          status: 429,
          title: "Too many requests.",
          detail: `At most ${error.limit} per minute are accepted from one client.`,
        }),
        retryAfter(error.retryAfterMs),
      )
    case "TooManyInFlight":
      return problemResponse(
        makeProblem({
          code: "rate-limited",
          status: 429,
          title: "Too many requests at once.",
          detail: `At most ${error.limit} may be in flight from one client.`,
        }),
        retryAfter(PLACE_RETRY_MS),
      )
  }
}
