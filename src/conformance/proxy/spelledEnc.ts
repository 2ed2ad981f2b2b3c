/**
 * Seals with the top bit of `enc`'s X25519 part set. X25519 ignores that bit (RFC 7748 §5), so a server that does not check
 * it opens the request.
 */
import { createHash, createPublicKey, encapsulate, randomBytes } from "node:crypto"
import type { SuiteName } from "../../domain/protocol/suites.ts"
import { dhkem, KEM, schedule, x25519 } from "../lyingProxy/hpkeSchedule.ts"
import { publicKeyOf } from "../lyingProxy/Identity.ts"
import { aesSeal, bytes, fromHex, text } from "../lyingProxy/reference.ts"

/** SubjectPublicKeyInfo of ML-KEM-768 is a fixed prefix and the raw bytes (RFC 9935 §4). */
const SPKI = fromHex("308204b2300b0609608648016503040402038204a100")
const ML_KEM_BYTES = 1184
const X_WING_LABEL = text("\\.//^\\")
const TOP_BIT = 0x80

/** Returns a new public key in that spelling, and the secret agreed with `peer`. */
const agree = (peer: Uint8Array) => {
  const secret = randomBytes(32)
  const spelled = Buffer.from(publicKeyOf("X25519", secret))
  spelled[31] = (spelled[31] ?? 0) | TOP_BIT
  return { spelled, agreed: x25519(secret, peer) }
}

const ENCAPSULATE = {
  X25519: (recipient: Uint8Array) => {
    const { agreed, spelled } = agree(recipient)
    return { enc: spelled, sharedSecret: dhkem(agreed, spelled, recipient).sharedSecret }
  },
  /** X-Wing (draft-connolly-cfrg-xwing-kem-08). */
  "MLKEM768-X25519": (recipient: Uint8Array) => {
    const mlKem = bytes(SPKI, recipient.subarray(0, ML_KEM_BYTES))
    const { ciphertext, sharedKey } = encapsulate(createPublicKey({ key: mlKem, format: "der", type: "spki" }))
    const peer = recipient.subarray(ML_KEM_BYTES)
    const { agreed, spelled } = agree(peer)
    const hash = createHash("sha3-256").update(bytes(sharedKey, agreed, spelled, peer, X_WING_LABEL))
    return { enc: bytes(ciphertext, spelled), sharedSecret: hash.digest() }
  },
} as const

export const sealSpelled = (
  suite: SuiteName,
  recipient: Uint8Array,
  info: Uint8Array,
  aad: Uint8Array,
  block: Uint8Array,
) => {
  const { enc, sharedSecret } = ENCAPSULATE[suite](recipient)
  const { key, nonce } = schedule(KEM[suite], sharedSecret, info)
  return { enc, ciphertext: aesSeal(key, nonce, aad, block) }
}
