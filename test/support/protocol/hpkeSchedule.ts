/** HPKE from a shared secret on (RFC 9180 §5.1, mode base), for whoever has come by one in a way that no library offers. */
import { bytes, hkdfExpand, hkdfExtract, text, x25519 } from "./reference.ts"

export const KEM = { X25519: 0x0020, "MLKEM768-X25519": 0x647a } as const

const EMPTY = Buffer.alloc(0)
const twoBytes = (value: number): Buffer => Buffer.of(value >> 8, value & 0xff)

const labeled = (suiteId: Buffer) => ({
  extract: (salt: Uint8Array, name: string, ikm: Uint8Array) =>
    hkdfExtract(salt, bytes(text("HPKE-v1"), suiteId, text(name), ikm)),
  expand: (prk: Uint8Array, name: string, info: Uint8Array, length: number) =>
    hkdfExpand(prk, bytes(twoBytes(length), text("HPKE-v1"), suiteId, text(name), info), length),
})

/** Everything that is made of a shared secret, in the suite of this KEM with HKDF-SHA256 and AES-256-GCM. */
export const schedule = (kem: number, sharedSecret: Uint8Array, info: Uint8Array) => {
  const { expand, extract } = labeled(bytes(text("HPKE"), twoBytes(kem), Buffer.of(0, 1, 0, 2)))
  const context = bytes(Buffer.of(0), extract(EMPTY, "psk_id_hash", EMPTY), extract(EMPTY, "info_hash", info))
  const secret = extract(sharedSecret, "secret", EMPTY)
  const exporter = expand(secret, "exp", context, 32)
  return {
    key: expand(secret, "key", context, 32),
    nonce: expand(secret, "base_nonce", context, 12),
    exported: expand(exporter, "sec", text("sealgate/v2 response\0"), 32),
  }
}

/** The shared secret of DHKEM(X25519) (RFC 9180 §4.1): of an agreement, and of what is called its two public keys. */
export const dhkemSecret = (agreed: Uint8Array, enc: Uint8Array, recipient: Uint8Array): Buffer => {
  const { expand, extract } = labeled(bytes(text("KEM"), twoBytes(KEM.X25519)))
  return expand(extract(EMPTY, "eae_prk", agreed), "shared_secret", bytes(enc, recipient), 32)
}

/** The same, agreed with this private key. */
export const dhkemSecretOf = (ephemeral: Uint8Array, enc: Uint8Array, recipient: Uint8Array): Buffer =>
  dhkemSecret(x25519(ephemeral, recipient), enc, recipient)
