/** Requests sessions and verifies their offers (sealed protocol §3). */
import { type Bytes, encodeBase64Url, utf8 } from "../../domain/bytes/bytes.ts"
import { type Suite, SUITES, type SuiteName, suiteWith } from "../../domain/protocol/suites.ts"
import { MAX_SESSION_SECONDS, SESSION_ID_BYTES } from "../../domain/protocol/transcript.ts"
import { sessionClaimsFrom } from "../verification/claims.ts"
import { decodeBytes } from "../verification/decode.ts"
import { Tampered } from "../errors.ts"
import { randomBytes, sha256 } from "../crypto/primitives.ts"
import type { ProvenCode } from "../attestation/Policy.ts"
import { type TrustedKeys, verifyStatement } from "../verification/trust.ts"

/** A verified session. */
export interface ClientSession {
  readonly id: string
  readonly idBytes: Bytes
  readonly suite: Suite
  readonly publicKey: Bytes
  readonly attestationHash: Bytes
  /** Key id of the identity that signed the offer. */
  readonly kid: string
  /** Beginning of the session: whole seconds since the epoch, on the proxy's clock. */
  readonly begunAt: number
  /** End of the session: milliseconds since the epoch, on the proxy's clock. */
  readonly expiresAt: number
  /** When to begin a new session, some time before this one ends: milliseconds since the epoch, on the proxy's clock. */
  readonly usableUntil: number
  /** Longest ciphertext accepted, in bytes. */
  readonly maxRequestBytes: number
  /** The proxy's clock minus this machine's, in milliseconds. */
  readonly clockOffset: number
  /** Hash of the proxy's configuration, if it has evidence mode. */
  readonly configuration: string | undefined
  /** The code that holds the identity, if a policy proved it. */
  readonly code?: ProvenCode
  /** Requests that may still be sent. */
  requestsLeft: number
}

/** How long before its end a session is renewed, in milliseconds; a short one halfway to its end. */
const RENEWAL_MARGIN_MS = 5000
/** Shortest accepted session, in milliseconds. A shorter one could end before its first request arrives. */
const SHORTEST_SESSION_MS = 2000

/** The signed `iat` is truncated to seconds, so the proxy's clock was half a second later on average. */
const MEAN_TRUNCATION_MS = 500

const NONCE_BYTES = 16

/** The body of `POST /v1/init`, and the offered suites. */
export interface SessionRequest {
  /** JSON text. The offer signs its hash. */
  readonly body: string
  readonly suites: ReadonlyArray<Suite>
}

/** Requests a session with the suites of these names, in the product's order, and a fresh nonce. */
export const sessionRequest = (names: ReadonlyArray<SuiteName> = SUITES.map(({ name }) => name)): SessionRequest => {
  const suites = SUITES.filter(({ name }) => names.includes(name))
  const body = { client_nonce: encodeBase64Url(randomBytes(NONCE_BYTES)), suites: suites.map(({ id }) => id) }
  return { body: JSON.stringify(body), suites }
}

/**
 * Verifies the statement in the answer to `POST /v1/init`.
 *
 * @param now this machine's clock when the answer came, in milliseconds since the epoch
 */
export const verifySession = async (
  attestation: string,
  trusted: TrustedKeys,
  { body, suites }: SessionRequest,
  now: number,
): Promise<ClientSession> => {
  const offer = sessionClaimsFrom(await verifyStatement("session", attestation, trusted))
  if (offer.init_hash !== encodeBase64Url(await sha256(utf8(body)))) {
    throw new Tampered("The offer answers another request: its hash is not that of the body sent.")
  }
  const suite = suiteWith(offer.suite)
  if (suite === undefined || !suites.includes(suite)) {
    throw new Tampered("The session is of a suite that was not offered.")
  }
  const publicKey = decodeBytes(offer.public_key, "public_key", suite.publicKeyBytes)
  if (!suite.isSoundKey(publicKey)) throw new Tampered("The session's public key is not valid for its suite.")
  const lifetime = (offer.expires_at - offer.iat) * 1000
  if (lifetime < SHORTEST_SESSION_MS) throw new Tampered("The session has expired before it could be used.")
  if (lifetime > MAX_SESSION_SECONDS * 1000) {
    throw new Tampered(`The session lasts longer than the maximum of ${MAX_SESSION_SECONDS} s.`)
  }
  if (offer.max_requests === 0) throw new Tampered("The session allows no requests.")
  return {
    id: offer.session_id,
    idBytes: decodeBytes(offer.session_id, "session_id", SESSION_ID_BYTES),
    suite,
    publicKey,
    attestationHash: await sha256(utf8(attestation)),
    kid: offer.iss,
    begunAt: offer.iat,
    expiresAt: offer.expires_at * 1000,
    usableUntil: offer.expires_at * 1000 - Math.min(RENEWAL_MARGIN_MS, lifetime / 2),
    maxRequestBytes: offer.max_request_bytes,
    clockOffset: offer.iat * 1000 + MEAN_TRUNCATION_MS - now,
    configuration: offer.configuration,
    requestsLeft: offer.max_requests,
  }
}
