/** Sessions from the client's side: an offer is believed only after everything about it was checked (§3). */
import { type Bytes, encodeBase64Url, utf8 } from "../domain/bytes.ts"
import { SESSION_ID_BYTES, SUITE, VERSION } from "../domain/transcript.ts"
import { sessionClaimsFrom, sessionOfferFrom } from "./claims.ts"
import { decodeBytes, type JsonObject, string } from "./decode.ts"
import { Tampered } from "./errors.ts"
import { PUBLIC_KEY_BYTES, sha256 } from "./primitives.ts"
import { type TrustedKeys, verifyStatement } from "./trust.ts"

/** A verified session. */
export interface ClientSession {
  readonly id: string
  readonly idBytes: Bytes
  readonly publicKey: Bytes
  readonly attestationHash: Bytes
  /** Key id of the identity that signed the offer. */
  readonly kid: string
  /** When it began: whole seconds since the epoch, on the proxy's clock. */
  readonly begunAt: number
  /** When to begin a new session, some time before this one ends: milliseconds since the epoch, on the proxy's clock. */
  readonly usableUntil: number
  /** Longest ciphertext accepted, in bytes. */
  readonly maxRequestBytes: number
  /** What to add to this machine's clock to get the proxy's, in milliseconds. */
  readonly clockOffset: number
  /** Requests that may still be sent. */
  requestsLeft: number
}

/** How long before its end a session is renewed, in milliseconds; a short one halfway to its end. */
const RENEWAL_MARGIN_MS = 5000
/** What lasts less, in milliseconds, could be over before its first request arrives. */
const SHORTEST_SESSION_MS = 2000

/** Half a second: the signed `iat` is in whole seconds, so the proxy's clock was on average this much later. */
const MEAN_TRUNCATION_MS = 500

/**
 * Verifies the answer to `POST /v1/init`.
 *
 * @param nonce the nonce that was sent
 * @param now this machine's clock when the answer came, in milliseconds since the epoch
 */
export const verifySession = async (
  response: JsonObject,
  trusted: TrustedKeys,
  nonce: Bytes,
  now: number,
): Promise<ClientSession> => {
  const attestation = string(response, "attestation")
  const claims = sessionClaimsFrom(await verifyStatement("session", attestation, trusted))
  const offer = sessionOfferFrom(response)
  const { client_nonce: signedNonce, iat, iss, ...signed } = claims
  if (JSON.stringify(offer) !== JSON.stringify(signed)) {
    throw new Tampered("The session offer differs from what was signed.")
  }
  if (signedNonce !== encodeBase64Url(nonce)) throw new Tampered("The session offer was made for somebody else.")
  const { aead, kdf, kem } = offer.suite
  if (offer.version !== VERSION || kem !== SUITE.kem || kdf !== SUITE.kdf || aead !== SUITE.aead) {
    throw new Tampered("The session offers a version or suite that this client does not know.")
  }
  const lifetime = (offer.expires_at - iat) * 1000
  if (lifetime < SHORTEST_SESSION_MS) throw new Tampered("The session has expired before it could be used.")
  if (offer.max_requests === 0) throw new Tampered("The session allows no requests.")
  return {
    id: offer.session_id,
    idBytes: decodeBytes(offer.session_id, "session_id", SESSION_ID_BYTES),
    publicKey: decodeBytes(offer.public_key, "public_key", PUBLIC_KEY_BYTES),
    attestationHash: await sha256(utf8(attestation)),
    kid: iss,
    begunAt: iat,
    usableUntil: offer.expires_at * 1000 - Math.min(RENEWAL_MARGIN_MS, lifetime / 2),
    maxRequestBytes: offer.max_request_bytes,
    clockOffset: iat * 1000 + MEAN_TRUNCATION_MS - now,
    requestsLeft: offer.max_requests,
  }
}
