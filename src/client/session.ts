/** Sessions from the client's side: an offer is believed only after everything about it was checked (§3). */
import { type Bytes, encodeBase64Url, equalBytes, utf8 } from "../domain/bytes.ts"
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
  /** Milliseconds since the epoch, on the proxy's clock. */
  readonly expiresAt: number
  /** Longest ciphertext accepted, in bytes. */
  readonly maxRequestBytes: number
  /** What to add to this machine's clock to get the proxy's, in milliseconds. */
  readonly clockOffset: number
  /** Requests that may still be sent. */
  requestsLeft: number
}

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
  const clockOffset = iat * 1000 + MEAN_TRUNCATION_MS - now
  const expiresAt = offer.expires_at * 1000
  if (expiresAt <= iat * 1000) throw new Tampered("The session had expired before it began.")
  const publicKey = decodeBytes(offer.public_key, "public_key", PUBLIC_KEY_BYTES)
  if (equalBytes(publicKey, new Uint8Array(PUBLIC_KEY_BYTES))) throw new Tampered("The session's key is no key.")
  return {
    id: offer.session_id,
    idBytes: decodeBytes(offer.session_id, "session_id", SESSION_ID_BYTES),
    publicKey,
    attestationHash: await sha256(utf8(attestation)),
    kid: iss,
    expiresAt,
    maxRequestBytes: offer.max_request_bytes,
    clockOffset,
    requestsLeft: offer.max_requests,
  }
}
