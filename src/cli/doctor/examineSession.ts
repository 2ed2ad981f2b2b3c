/** Checks that a session can begin with the pinned identity, and its limits. */
import { Effect } from "effect"
import { isObject } from "../../domain/json/json.ts"
import { SealgateError } from "../../client/errors.ts"
import { type ClientSession, type SessionRequest, sessionRequest, verifySession } from "../../client/sealed/session.ts"
import { keysByThumbprint } from "../../client/verification/trust.ts"
import { parseStatement } from "../../domain/protocol/statement.ts"
import { SUITES } from "../../domain/protocol/suites.ts"
import { MAX_SKEW_MS } from "../../domain/protocol/transcript.ts"
import { error, type Finding, ok, warning } from "./Finding.ts"
import { type NoAnswer, probe, type Probed, reasonOf } from "./probe.ts"
import { remedyFor, isFromSealgate, describeAnswer } from "./unexpectedAnswer.ts"

/** Least clock difference to report; network delays and rounding explain smaller ones. */
const NOTABLE_SKEW_MS = 10_000
/** Coding agents send prompts of some hundred thousand tokens. */
const LARGE_REQUEST_BYTES = 1024 * 1024

const pin = (kid: string, pins: ReadonlyArray<string>): Finding => {
  if (pins.length === 0) {
    return warning(
      "pin",
      `The proxy identifies itself as ${kid}; no pin was given to compare it with.`,
      "Ask its operator for the pin over another channel, and give it with --pin.",
    )
  }
  if (pins.includes(kid)) return ok("pin", `The proxy is ${kid}, as pinned.`)
  return error(
    "pin",
    `The proxy identifies itself as ${kid}, which is not pinned (${pins.join(", ")}).`,
    "Either this is not your proxy, or its key was rotated: ask its operator before you change the pin.",
  )
}

const clock = (offset: number): Finding => {
  const seconds = Math.round(Math.abs(offset) / 1000)
  const says = `This machine's clock is ${seconds} s ${offset > 0 ? "behind" : "ahead of"} the proxy's.`
  const fix = "Find out which clock is wrong, and synchronize it with a time server (NTP)."
  if (Math.abs(offset) > MAX_SKEW_MS) return error("clock", says, fix)
  if (Math.abs(offset) > NOTABLE_SKEW_MS) return warning("clock", says, fix)
  return ok("clock", "The clocks agree.")
}

/** The proxy chooses the first suite of the client's list that it supports. */
const suite = (session: ClientSession): Finding =>
  session.suite === SUITES[0]
    ? ok("suite", `The suite resists quantum computers: ${session.suite.name}, the client's first choice.`)
    : warning(
        "suite",
        `The proxy chose ${session.suite.name}; it lacks the suites that this client prefers.`,
        "Recorded traffic can be decrypted by a future quantum computer: update the proxy.",
      )

const limits = (session: ClientSession): Finding => {
  const says = `A session allows ${session.requestsLeft} requests of up to ${session.maxRequestBytes} sealed bytes each.`
  return session.maxRequestBytes < LARGE_REQUEST_BYTES
    ? warning("limits", says, "Coding agents and images need more: raise MAX_REQUEST_BYTES at the proxy.")
    : ok("limits", says)
}

const NOT_FOUND = 404
const TOO_MANY = 429

const INIT = "v1/init"

const refused = (answer: Probed, proxy: URL): Finding => {
  if (!isFromSealgate(answer)) {
    const says = `Another server answered instead of the proxy: ${describeAnswer(answer)}`
    return error("session", says, remedyFor(answer, proxy, INIT))
  }
  if (answer.status === TOO_MANY) {
    const seconds = answer.headers["retry-after"] ?? "some"
    return warning(
      "limits",
      `This machine has used up the proxy's rate limit; the next session can begin in ${seconds} s.`,
      "Wait. If this happens often, raise RATE_LIMIT_INIT at the proxy; behind a load balancer, set TRUSTED_PROXIES.",
    )
  }
  return error("session", `The proxy did not begin a session: ${describeAnswer(answer)}`, "Check its log and /ready.")
}

/** A path that exists only at a gateway, where it requires a token. */
const GATEWAY_ONLY = "api/v1/agents"
/** A path that exists only at an operator's listener. */
const OPERATOR_ONLY = "metrics"
const UNAUTHORIZED = 401
const OK = 200

/** Identifies a sealgate server without sessions. A connector answers all paths in a vendor's error format. */
const otherServer = Effect.fnUntraced(function* (offer: Probed, server: URL) {
  const found =
    (yield* probe(new URL(GATEWAY_ONLY, server))).status === UNAUTHORIZED
      ? "an agent gateway"
      : isObject(offer.body) && isObject(offer.body["error"])
        ? "a connector"
        : (yield* probe(new URL(OPERATOR_ONLY, server))).status === OK && isFromSealgate(offer)
          ? "an operator's listener"
          : undefined
  if (found === undefined) return refused(offer, server)
  return error(
    "session",
    `This is ${found}, not a sealed proxy.`,
    "By default a proxy listens on port 3001, a gateway on 3000, a connector on 8787.",
  )
})

const malformed = (reason: string): Finding =>
  error(
    "session",
    `The session offer is not what the proxy signed: ${reason}`,
    "Something on the path changed it, or this is not a sealgate proxy.",
  )

/** Verifies an offer with the keys that came with it, so that a wrong pin does not hide other problems. */
const examineOffer = Effect.fnUntraced(function* (offer: Probed, request: SessionRequest) {
  const { body } = offer
  if (!isObject(body) || typeof body["attestation"] !== "string") return undefined
  const attestation = body["attestation"]
  return yield* Effect.tryPromise({
    try: async () => {
      const known = await keysByThumbprint(body)
      const kid = parseStatement(attestation)?.kid ?? ""
      return { kid, session: await verifySession(attestation, known, request, offer.at) }
    },
    catch: (cause) => malformed(cause instanceof SealgateError ? cause.message : "it is malformed."),
  })
})

export const examineSession = Effect.fnUntraced(
  function* (proxy: URL, pins: ReadonlyArray<string>) {
    const request = sessionRequest()
    const offer = yield* probe(new URL(INIT, proxy), request.body)
    if (offer.status === NOT_FOUND) return [yield* otherServer(offer, proxy)]
    if (offer.status !== 200) return [refused(offer, proxy)]
    const found = yield* examineOffer(offer, request)
    if (found === undefined) return [malformed("there is no signature.")]
    return [
      pin(found.kid, pins),
      ok("session", "The session offer has a valid signature."),
      suite(found.session),
      clock(found.session.clockOffset),
      limits(found.session),
    ]
  },
  Effect.catch((failure: NoAnswer | Finding) =>
    Effect.succeed([
      "check" in failure
        ? failure
        : error("session", `No answer: ${reasonOf(failure)}.`, "Check the address and the proxy's log."),
    ]),
  ),
)
