/** What the client's cryptography is made of, and all of it on WebCrypto, which every platform has. */
import { type AeadInterface, Aes256Gcm, HkdfSha256, type KdfInterface } from "@hpke/core"
import { type Bytes, concat } from "../domain/bytes.ts"

type Eventual<A> = A | Promise<A>

/** The block inside a frame, or `undefined` when it does not authenticate. */
export type Opener = (nonce: Bytes, aad: Bytes, ciphertext: Bytes) => Eventual<Bytes | undefined>

/** What sealing and opening are made of. */
export interface Primitives {
  readonly sha256: (data: Bytes) => Eventual<Bytes>
  /** HMAC-SHA256. */
  readonly hmac: (key: Bytes, ...parts: ReadonlyArray<Uint8Array>) => Eventual<Bytes>
  /** HKDF-SHA256: its first step, for any number of outputs. */
  readonly hkdf: (secret: Bytes, salt: Bytes) => Eventual<(info: Bytes, length: number) => Eventual<Bytes>>
  /** Opens with AES-256-GCM. */
  readonly opener: (key: Bytes) => Eventual<Opener>
  /** Both for HPKE. */
  readonly kdf: () => KdfInterface
  readonly aead: () => AeadInterface
}

const { subtle } = globalThis.crypto

export const webPrimitives: Primitives = {
  kdf: () => new HkdfSha256(),
  aead: () => new Aes256Gcm(),
  sha256: async (data) => new Uint8Array(await subtle.digest("SHA-256", data)),
  hmac: async (key, ...parts) => {
    const imported = await subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"])
    return new Uint8Array(await subtle.sign("HMAC", imported, concat(...parts)))
  },
  hkdf: async (secret, salt) => {
    const ikm = await subtle.importKey("raw", secret, "HKDF", false, ["deriveBits"])
    return async (info, length) =>
      new Uint8Array(await subtle.deriveBits({ name: "HKDF", hash: "SHA-256", salt, info }, ikm, length * 8))
  },
  opener: async (key) => {
    const imported = await subtle.importKey("raw", key, "AES-GCM", false, ["decrypt"])
    return (nonce, aad, ciphertext) =>
      subtle.decrypt({ name: "AES-GCM", iv: nonce, additionalData: aad }, imported, ciphertext).then(
        (block) => new Uint8Array(block),
        () => undefined,
      )
  },
}
