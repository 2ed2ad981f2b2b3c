/** How the proxy's refusals before opening look on the wire (sealed protocol §4.8). */
import type { HttpServerResponse } from "effect/http"
import { makeProblem } from "../../domain/problem.ts"
import type { OpeningError } from "../../services/sealing/SealedExchange.ts"
import { DRAINING, problemResponse, retryAfter, SOON_MS } from "../shared/Problems.ts"

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
  title: "This request came before, and may have been served.",
  detail: "Its bytes were sent twice, or its HPKE context used twice. Seal it again only if it may be served twice.",
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
  problemResponse(DRAINING, retryAfter(SOON_MS))

/** The answer to a request that was not opened. */
export const refusalResponse = (error: OpeningError): HttpServerResponse.HttpServerResponse => {
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
  }
}
