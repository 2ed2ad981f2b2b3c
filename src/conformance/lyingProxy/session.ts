/** Offers sessions and opens the requests sealed to them. */
import { isObject, type JsonObject } from "../../domain/json/json.ts"
import { parseIJson } from "../../domain/json/iJson.ts"
import type { SuiteName } from "../../domain/protocol/suites.ts"
import { hpkeOpen, sessionPublicKey, SUITE_IDS } from "./hpke.ts"
import { b64u, block, FLOOR, fromB64u, initHash, requestAad, requestHash, requestInfo, unblock } from "./reference.ts"
import type { Lie, Replacement } from "./Lie.ts"
import type { Signers, Unsigned } from "./statement.ts"

interface Offering {
  readonly suite: SuiteName
  readonly privateKey: Uint8Array
  readonly id: Uint8Array
  /** Body of the request for this session. */
  readonly body: string
  /** Seconds since the epoch. */
  readonly now: number
  readonly lifetimeSeconds: number
  readonly maxRequests: number
  readonly maxRequestBytes: number
}

export const offerClaims = (offering: Offering): Unsigned<"session"> => ({
  iat: offering.now,
  session_id: b64u(offering.id),
  public_key: b64u(sessionPublicKey(offering.suite, offering.privateKey)),
  suite: SUITE_IDS[offering.suite],
  expires_at: offering.now + offering.lifetimeSeconds,
  max_requests: offering.maxRequests,
  max_request_bytes: offering.maxRequestBytes,
  init_hash: initHash(offering.body),
})

export const offerAnswer = ({ pinned, stranger }: Signers, attestation: string, lie: Lie): Replacement => {
  const isStrangerShown = [lie.session, lie.receipt, lie.proof].some((forgery) => forgery?.byStranger === "own")
  const honest = { attestation, keys: isStrangerShown ? [pinned.jwk, stranger.jwk] : [pinned.jwk] }
  return lie.offer?.(honest, stranger.jwk) ?? honest
}

export interface LyingSession {
  readonly suite: SuiteName
  readonly privateKey: Uint8Array
  readonly attestation: string
}

/** A sealed request that was opened. */
export interface Unsealed {
  readonly sessionId: string
  readonly payloadBytes: Buffer
  readonly payload: JsonObject
  readonly credential: Buffer
  readonly enc: Buffer
  readonly secret: Buffer
  readonly requestHash: Buffer
}

const bytesIn = (body: JsonObject, member: string): Buffer => {
  const value = fromB64u(String(body[member]))
  if (b64u(value) !== body[member]) throw new Error(`${member} is not base64url`)
  return value
}

/** Opens a request that was sealed to `session`. Rejects with an error that names the fault. */
export const open = async ({ attestation, privateKey, suite }: LyingSession, body: JsonObject): Promise<Unsealed> => {
  const [enc, ciphertext, id] = [bytesIn(body, "enc"), bytesIn(body, "ciphertext"), bytesIn(body, "session_id")]
  const context = { suite, info: requestInfo(attestation), aad: requestAad(id) }
  const { plaintext, secret } = await hpkeOpen(privateKey, context, enc, ciphertext).catch((cause: unknown) => {
    throw new Error("it cannot be opened: its key, info or associated data are others than they must be", { cause })
  })
  const content = unblock(plaintext)
  if (!block(content, FLOOR).equals(plaintext)) throw new Error("its block is not padded as it must be")
  const end = content.length < 4 ? 0 : 4 + content.readUInt32BE(0)
  if (end < 4 || end > content.length) throw new Error("there is no credential and payload in its block")
  const payloadBytes = content.subarray(end)
  const payload = parseIJson(payloadBytes)
  if (!isObject(payload)) throw new Error("its payload is not a JSON object")
  return {
    sessionId: b64u(id),
    payloadBytes,
    payload,
    credential: content.subarray(4, end),
    enc,
    secret,
    requestHash: requestHash(attestation, enc, ciphertext),
  }
}
