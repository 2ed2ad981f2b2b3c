/**
 * Private keys for Node's crypto library, which copies them in encoded form. It overwrites each copy when it is
 * collected.
 */
import { createPrivateKey, createPublicKey, decapsulate, type PrivateKeyInput } from "node:crypto"
import type { Bytes } from "../../domain/bytes/bytes.ts"
import { ML_KEM_768 } from "../../domain/protocol/suites.ts"
import { exactBuffer, secretBytes } from "./secretBytes.ts"

/** PKCS #8 of these keys is a fixed prefix and the raw bytes (RFC 8410 §7; RFC 9935 §6, the form with the seed alone). */
const PKCS8_PREFIX = {
  x25519: "302e020100300506032b656e04220420",
  ed25519: "302e020100300506032b657004220420",
  "ml-kem-768": "3054020100300b060960864801650304040204428040",
}

/** Runs `use` with the encoded key, and overwrites the encoding. */
export const withPrivateKey = <A>(
  kind: keyof typeof PKCS8_PREFIX,
  secret: Bytes,
  use: (key: PrivateKeyInput) => A,
): A => {
  const prefix = PKCS8_PREFIX[kind]
  const der = Buffer.from(secretBytes(prefix.length / 2 + secret.length).buffer)
  der.write(prefix, "hex")
  der.set(secret, prefix.length / 2)
  try {
    return use({ key: der, format: "der", type: "pkcs8" })
  } finally {
    der.fill(0)
  }
}

/** The raw public key: the last `length` bytes of its encoding. */
export const publicKeyOf = (key: PrivateKeyInput, length: number): Bytes =>
  new Uint8Array(createPublicKey(createPrivateKey(key)).export({ format: "der", type: "spki" }).subarray(-length))

export const mlKemPublicKey = (seed: Bytes): Bytes =>
  withPrivateKey("ml-kem-768", seed, (key) => publicKeyOf(key, ML_KEM_768.publicKeyBytes))

/** ML-KEM-768's `Decaps` (FIPS 203 §7.3). */
export const mlKemDecapsulate = (seed: Bytes, ciphertext: Bytes): Bytes =>
  withPrivateKey("ml-kem-768", seed, (key) => new Uint8Array(exactBuffer(decapsulate(key, ciphertext))))
