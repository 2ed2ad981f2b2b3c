/** HPKE by hand (RFC 9180, mode base), for intermediate secrets that libraries do not expose. */
import { createPublicKey, diffieHellman } from "node:crypto"
import { keyFrom } from "./Identity.ts"
import { bytes, fromHex, hkdfExpand, hkdfExtract, label, text } from "./reference.ts"

export const KEM = { X25519: 0x0020, "MLKEM768-X25519": 0x647a } as const

const EMPTY = Buffer.alloc(0)
const twoBytes = (value: number): Buffer => Buffer.of(value >> 8, value & 0xff)

const labeled = (suiteId: Buffer) => ({
  extract: (salt: Uint8Array, name: string, ikm: Uint8Array) =>
    hkdfExtract(salt, bytes(text("HPKE-v1"), suiteId, text(name), ikm)),
  expand: (prk: Uint8Array, name: string, info: Uint8Array, length: number) =>
    hkdfExpand(prk, bytes(twoBytes(length), text("HPKE-v1"), suiteId, text(name), info), length),
})

/** Derives all secrets from a shared secret, in the suite of this KEM with HKDF-SHA256 and AES-256-GCM (§5.1, §5.3). */
export const schedule = (kem: number, sharedSecret: Uint8Array, info: Uint8Array) => {
  const { expand, extract } = labeled(bytes(text("HPKE"), twoBytes(kem), Buffer.of(0, 1, 0, 2)))
  const context = bytes(Buffer.of(0), extract(EMPTY, "psk_id_hash", EMPTY), extract(EMPTY, "info_hash", info))
  const secret = extract(sharedSecret, "secret", EMPTY)
  const exporterSecret = expand(secret, "exp", context, 32)
  return {
    secret,
    key: expand(secret, "key", context, 32),
    nonce: expand(secret, "base_nonce", context, 12),
    exporterSecret,
    exported: expand(exporterSecret, "sec", label("response"), 32),
  }
}

/** The bare X25519 function (RFC 7748). */
export const x25519 = (privateKey: Uint8Array, publicKey: Uint8Array): Buffer => {
  const spki = bytes(fromHex("302a300506032b656e032100"), publicKey)
  return diffieHellman({
    privateKey: keyFrom("X25519", privateKey),
    publicKey: createPublicKey({ key: spki, format: "der", type: "spki" }),
  })
}

/** The second half of DHKEM(X25519), from an agreement and any two public keys (§4.1). */
export const dhkem = (agreed: Uint8Array, enc: Uint8Array, recipient: Uint8Array) => {
  const { expand, extract } = labeled(bytes(text("KEM"), twoBytes(KEM.X25519)))
  const agreedPrk = extract(EMPTY, "eae_prk", agreed)
  return { agreedPrk, sharedSecret: expand(agreedPrk, "shared_secret", bytes(enc, recipient), 32) }
}
